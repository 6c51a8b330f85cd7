"""Word vectors: how files are read, what is wrong with them, the cache, and that workers share them."""

from __future__ import annotations

import json
import os
import pickle
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.text as text
from millrace._src.core.errors import FormatError
from millrace._src.data.kernels.text import word_vector_cache as vector_store
from millrace._src.data.kernels.text import word_vector_file as vector_file
from millrace._src.data.kernels.text import word_vectors as vectors_module
from millrace._src.data.kernels.text.word_hash_index import WordIndex
from millrace._src.data.kernels.text.word_vectors import CharNGram, Vectors


@pytest.fixture
def file(tmp_path):
    def write(data, name="vectors.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Every file is worth keeping, in a folder of this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(vector_store, "MIN_CACHED_BYTES", 0)
    return tmp_path / "cache" / "millrace" / "vectors"


def some(rows=50, dim=4):
    return "".join(f"w{i} " + " ".join(f"{i}.{j}" for j in range(dim)) + "\n" for i in range(rows))


# --- reading --------------------------------------------------------------------------------------------


def test_a_file(file):
    vectors = Vectors.from_file(file("3 2\na 1 2\nb 0.5 -1e-3\na 9 9\n"))
    assert vectors.table == {"a": 0, "b": 1}
    np.testing.assert_array_equal(vectors.matrix, np.array([[1, 2], [0.5, -1e-3], [9, 9]], np.float32))
    assert (len(vectors), vectors.dim, "a" in vectors, "c" in vectors) == (2, 2, True, False)
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 5


@pytest.mark.parametrize("size", [1, 7, 64, 8 << 20])
def test_blocks_of_any_size_read_the_same(file, monkeypatch, size):
    monkeypatch.setattr(vector_file, "BLOCK_BYTES", size)
    vectors = Vectors.from_file(file(some()))
    assert vectors.table == {f"w{i}": i for i in range(50)}
    assert vectors.matrix[49].tolist() == np.array([49.0, 49.1, 49.2, 49.3], np.float32).tolist()
    assert len(Vectors.from_file(vectors.file_path, 7)) == 7


@pytest.mark.parametrize(
    ("data", "words", "line"),
    [
        ("a 1 2\nb 3\nc 5 6\n", "token with 1-dimensional vector", 2),
        ("2 2\na 1 2\nb 3 4\nc 5", "token with 1-dimensional vector", 4),
        (
            "a 1 2\nb 3 4 5\n",
            "all vectors must have the same number of dimensions, but got dim 3 while expecting 2",
            2,
        ),
        ("a 1 2\nb c 3 4\n", "but got dim 3 while expecting 2", 2),
        ("a 1 2\n\nb 3 4\n", "token with 1-dimensional vector", 2),
        ("a 1 2\nb x 4\n", '"x" is not a number', 2),
        ("a 1 2\nb 3 4z\n", '"4z" is not a number', 2),
        ("a 1 2\nb 1-2  \n", "token with 1-dimensional vector", 2),
        ("a 1 2 3\nb 1-2  3\n", '"1-2" is not a number', 2),
        ("a\t1\t2\n", "token with 1-dimensional vector", 1),
        ("a\n", "token with 1-dimensional vector", 1),
    ],
)
def test_a_wrong_line_is_named(file, data, words, line):
    path = file(data)
    with pytest.raises(FormatError) as raised:
        Vectors.from_file(path)
    assert words in str(raised.value)
    assert raised.value.context == {"file": path, "line": line}


def test_files_that_hold_nothing_or_are_not_there(file, tmp_path):
    for data in ("", "4 3\n"):
        with pytest.raises(RuntimeError, match="Vectors: invalid file, file is empty"):
            Vectors.from_file(file(data))
    for path in (str(tmp_path / "none.txt"), str(tmp_path)):
        with pytest.raises(RuntimeError, match="Vectors: get real path failed, path: "):
            Vectors.from_file(path)


def test_a_file_of_something_else_is_not_read_to_its_end(file, monkeypatch):
    monkeypatch.setattr(vector_file, "BLOCK_BYTES", 10)
    monkeypatch.setattr(vector_file, "MAX_LINE_BYTES", 100)
    with pytest.raises(RuntimeError, match="a line of more than 100 bytes"):
        Vectors.from_file(file(b"\1" * 10_000))


@given(st.binary(max_size=200))
def test_any_bytes_are_vectors_or_an_error(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("v") / "v.txt"
    path.write_bytes(data)
    try:
        made = Vectors.from_file(str(path))
    except FormatError:
        return
    assert made.matrix.shape[1] == made.dim >= 2
    assert max(made.table.values()) < len(made.matrix)


def test_words_that_are_not_utf8_are_kept_apart(file):
    vectors = Vectors.from_file(file(b"a 1 2\n\xff 3 4\n\xfe 5 6\n"))
    assert len(pickle.loads(pickle.dumps(vectors)).table) == 3


def test_pieces_of_words(file):
    data = "2gram-#BEGIN#a 10 20\n2gram-ab 100 200\n3gram-ab#END# 7 7\n"
    found = CharNGram.from_file(file(data)).find(["ab", "x", "AB"], np.array([-1, -2], np.float32), True)
    np.testing.assert_allclose(found, [[39, 227 / 3], [-1, -2], [39, 227 / 3]], rtol=1e-6)


# --- the cache ------------------------------------------------------------------------------------------


def test_the_second_load_reads_none_of_it(file, cache, monkeypatch):
    path = file(some())
    first = Vectors.from_file(path)
    monkeypatch.setattr(vector_file.VectorFile, "blocks", lambda self: pytest.fail("it was parsed again"))
    second = Vectors.from_file(path)
    assert second == first
    assert second.table == {f"w{i}": i for i in range(50)}
    np.testing.assert_array_equal(first.matrix, second.matrix)
    with pytest.raises(ValueError, match="read-only"):
        second.matrix[0, 0] = 5


def test_only_its_owner_may_read_it(file, cache):
    Vectors.from_file(file(some()))
    entry = next(cache.iterdir())
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700


def test_a_file_that_changed_is_read_again(file, cache):
    path = file("a 1 2\nb 3 4\n")
    before = os.stat(path)
    Vectors.from_file(path)
    file("a 5 6\nb 7 8\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # the same size and time: its ends tell
    assert Vectors.from_file(path).matrix.tolist() == [[5, 6], [7, 8]]
    file("a 5 6\nb 7 8\nc 9 9\n")
    assert len(Vectors.from_file(path)) == 3
    assert len(Vectors.from_file(path, 1)) == 1
    assert len(Vectors.from_file(path)) == 3


@pytest.mark.parametrize("damage", ["short", "long", "head", "empty", "others may write"])
def test_a_damaged_entry_is_made_anew(file, cache, damage):
    path = file(some())
    whole = Vectors.from_file(path).matrix.tolist()
    entry = next(cache.iterdir())
    data = entry.read_bytes()
    if damage == "others may write":
        entry.chmod(0o666)
    else:
        head = json.loads(data[:4096].rstrip(b"\0")) | {"rows": 10**9}
        entry.write_bytes(
            {
                "short": data[:-1],
                "long": data + b"x",
                "head": json.dumps(head).encode().ljust(4096, b"\0") + data[4096:],
                "empty": b"",
            }[damage]
        )
    assert Vectors.from_file(path).matrix.tolist() == whole
    assert stat.S_IMODE(next(cache.iterdir()).stat().st_mode) == 0o600


def test_a_torn_file_leaves_nothing_in_the_cache(file, cache):
    with pytest.raises(FormatError):
        Vectors.from_file(file("a 1 2\nb 3\n"))
    assert list(cache.iterdir()) == []


def test_entries_of_files_that_are_gone_are_removed(file, cache):
    Vectors.from_file(file(some(), "old.txt"))
    os.unlink(file("x", "old.txt"))
    Vectors.from_file(file(some(), "new.txt"))
    assert len(list(cache.iterdir())) == 1


def test_without_a_place_to_keep_it_a_file_is_read_all_the_same(file, tmp_path, monkeypatch):
    (tmp_path / "blocked").write_text("a file where the folder would be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "blocked"))
    monkeypatch.setattr(vector_store, "MIN_CACHED_BYTES", 0)
    assert len(Vectors.from_file(file(some()))) == 50


# --- one thing wherever it goes -------------------------------------------------------------------------


def test_small_ones_travel_beside_the_pickle_and_arrive_once(file):
    vectors = Vectors.from_file(file(some(2000, 50)))
    beside: list[pickle.PickleBuffer] = []
    data = pickle.dumps(vectors, protocol=5, buffer_callback=beside.append)
    assert len(data) < 1000
    one, two = (pickle.loads(data, buffers=beside) for _ in range(2))
    assert one is two
    assert one == vectors
    assert one.table == vectors.table


def test_mapped_ones_travel_as_a_path(file, cache):
    vectors = Vectors.from_file(file(some(2000, 50)))
    beside: list[pickle.PickleBuffer] = []
    data = pickle.dumps(vectors, protocol=5, buffer_callback=beside.append)
    assert len(data) < 1000
    assert not beside
    assert pickle.loads(data).table == vectors.table
    gone = pickle.dumps(Vectors.from_file(file("a 1 2\n", "gone.txt")))
    for entry in cache.iterdir():
        entry.unlink()
    with pytest.raises(RuntimeError, match="are no longer in the cache"):
        pickle.loads(gone)


@pytest.mark.parametrize("processes", [False, True])
def test_workers_find_the_same_vectors(file, cache, no_leaks, processes):
    to_vectors = text.ToVectors(Vectors.from_file(file(some(200, 3))), unk_init=[7, 7, 7])
    data = ds.NumpySlicesDataset({"w": [[f"w{i}", "?"] for i in range(100)]}, shuffle=False)
    data = data.map(to_vectors, ["w"], num_parallel_workers=2, python_multiprocessing=processes)
    for i, row in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        np.testing.assert_array_equal(row["w"], np.array([[i, f"{i}.1", f"{i}.2"], [7, 7, 7]], np.float32))


def test_the_hash_is_of_the_contents(file, cache, monkeypatch):
    one, two = Vectors.from_file(file("a 1 2\n", "one.txt")), Vectors.from_file(file("a 1 2\n", "two.txt"))
    assert one == two
    assert hash(one) == hash(two)
    assert one != Vectors.from_file(file("a 1 3\n", "three.txt"))
    assert one != text.FastText.from_file(file("a 1 2\n", "one.vec"))


def test_words_are_found_without_a_table_of_all(file, cache, monkeypatch):
    vectors = Vectors.from_file(file("3 2\nthe 1 2\n中 3 4\nThe 5 6\n"))
    monkeypatch.setattr(vectors_module, "MAX_CACHED_ROWS", 2)
    unknown = np.array([-1, -1], np.float32)
    for words in (["the", "中", "x"], ["THE", "the"], ["The", "The", "y", "中"], []):
        found = vectors.find(words, unknown, True)
        wanted = {"the": [1, 2], "中": [3, 4], "THE": [1, 2], "The": [5, 6]}
        assert found.tolist() == [wanted.get(word, [-1, -1]) for word in words]
    assert vectors._table is None
    assert "中" in vectors
    assert "z" not in vectors
    assert vectors.table == {"the": 0, "中": 1, "The": 2}


def test_the_hash_does_not_depend_on_the_cache(file, cache, monkeypatch):
    path = file(some())
    mapped = Vectors.from_file(path)
    monkeypatch.setattr(vector_store, "MIN_CACHED_BYTES", 1 << 30)
    assert Vectors.from_file(path).digest == mapped.digest


@given(st.dictionaries(st.text(st.characters()), st.integers(0, 2**31 - 1)), st.lists(st.text()))
def test_an_index_finds_what_a_table_does(table, others):
    index = WordIndex.of(table)
    words = [*table, *others]
    assert index.find(words) == [table.get(word) for word in words]
    assert index.table() == table


def test_two_words_with_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr("millrace._src.data.kernels.text.word_hash_index._hash", lambda word: 7)
    index = WordIndex.of({"a": 3, "b": 5, "c": 9})
    assert index.find(["c", "a", "b", "d"]) == [9, 3, 5, None]

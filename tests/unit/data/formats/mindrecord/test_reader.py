"""MindRecordReader, FileReader and MindPage beyond the fixtures."""

import json
import pickle
import threading

import numpy as np
import pytest

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, FormatError
from millrace._src.data.formats.mindrecord import FileReader, MindPage, MindRecordReader
from millrace._src.data.formats.mindrecord.row_scan import scan_rows

from .helpers import rows_of, write

SCHEMA = {"label": {"type": "int64"}, "name": {"type": "string"}, "v": {"type": "float32", "shape": [2]}}


@pytest.fixture
def path(tmp_path):
    rows = [{"label": n % 12, "name": f"n{n % 3}", "v": np.full(2, n, np.float32)} for n in range(100)]
    return write(tmp_path / "x", SCHEMA, [rows[:50], rows[50:]], shards=2).with_name("x0")


def test_reading_by_threads(path, no_leaks):
    with MindRecordReader(path) as reader:
        wrong = []

        def work(seed):
            for _ in range(30):
                order = np.random.default_rng(seed).permutation(100)[:17]
                v = reader.read(order)["v"]
                wrong.extend(set(v[:, 0].tolist()) ^ set(reader.read(order, ["v"])["v"][:, 1].tolist()))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_a_column_of_all_rows(path):
    with MindRecordReader(path) as reader:
        assert reader.column("label").tolist() == [row["label"] for row in reader.rows()]
        assert reader.column("name") == [row["name"] for row in reader.rows()]
        assert reader.column("v").shape == (100, 2)


def test_a_pickled_reader_opens_its_files_again(path):
    with MindRecordReader(path) as reader, pickle.loads(pickle.dumps(reader)) as unpickled:
        assert unpickled.files == reader.files
        assert unpickled.read([3])["label"].tolist() == reader.read([3])["label"].tolist()


def test_wrong_arguments(path):
    reader = MindRecordReader(path)
    assert "label: int64" in repr(reader)
    with pytest.raises(ArgumentValueError, match="no column 'x'"):
        reader.read([0], ["x"])
    for bad in ([100], [-1]):
        with pytest.raises(ArgumentValueError, match=r"\[0, 100\)"):
            reader.read(bad)
    for bad in ([0.5], [[1]], ["a"]):
        with pytest.raises(ArgumentTypeError):
            reader.read(bad)
    reader.close()
    with pytest.raises(ArgumentValueError, match="closed"):
        reader.read([0])


def test_a_file_that_changed_after_it_was_opened(tmp_path):
    path = write(tmp_path / "x", {"n": {"type": "int32"}}, [[{"n": 1}]])
    reader = MindRecordReader(path)
    write(path, {"n": {"type": "int32"}}, [[{"n": 2}, {"n": 3}]], overwrite=True)
    with pytest.raises(FormatError, match="changed"):
        reader.read([0])


def test_many_shards_need_few_descriptors(tmp_path):
    rows = [{"n": n} for n in range(600)]
    write(tmp_path / "x", {"n": {"type": "int32"}}, [rows], shards=300)
    with MindRecordReader(tmp_path / "x000", check_index=False) as reader:
        assert reader.read(np.arange(600)[::-1])["n"].tolist() == list(range(600))[::-1]
        assert len(reader._maps) <= 256


def test_int32_beyond_its_range_is_an_error_in_a_block_and_kept_in_a_row(tmp_path):
    path = write(tmp_path / "x", {"n": {"type": "int64"}}, [[{"n": 1}, {"n": 2**31}]])
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"int64"', b'"int32"'))
    with MindRecordReader(path) as reader:
        with pytest.raises(FormatError, match="beyond int32") as caught:
            reader.read([1])
        assert caught.value.context["row"] == 1
        assert reader.row(1) == {"n": 2**31}
        assert reader.read([1], stored=True)["n"].tolist() == [2**31]


def test_a_value_that_looks_like_the_front_of_a_row(tmp_path):
    front = "\0\0\0\0\0\x02\x81"  # not the sign itself, which holds a byte that UTF-8 cannot
    rows = [{"s": front * (n % 5)} for n in range(500)]
    assert rows_of(write(tmp_path / "x", {"s": {"type": "string"}}, [rows])) == rows


def test_rows_found_by_sign_are_the_chain():
    payloads = [b"abc" + b"\0" * 5 + b"abc" * (n % 7) for n in range(300)]
    data = b"".join(len(p).to_bytes(8, "little") + p for p in payloads)
    begins, ends = scan_rows(data, 0, len(data), 300, b"abc")
    assert [data[b:e] for b, e in zip(begins, ends)] == payloads


def test_file_reader(path):
    reader = FileReader(str(path), columns=["name", "label"])
    rows = list(reader.get_next())
    assert rows[0] == {"label": 0, "name": "n0"}
    assert reader.len() == len(rows) == 100
    assert list(reader.schema()) == ["label", "name", "v"]
    reader.close()
    assert list(next(FileReader(str(path)).get_next())) == ["label", "name", "v"]
    with pytest.raises(DataError, match="no column 'q'"):
        FileReader(str(path), columns=["q"])
    for bad in ("name", []):
        with pytest.raises(ArgumentTypeError):
            FileReader(str(path), columns=bad)
    with pytest.raises(ArgumentValueError):
        FileReader(str(path), num_consumer=0)


def test_mind_page(path):
    page = MindPage(str(path))
    assert page.candidate_fields == ["label", "name"]
    with pytest.raises(DataError, match="category_field"):
        page.read_category_info()
    page.category_field = "label"
    info = json.loads(page.read_category_info())
    assert info["key"] == "label_0"
    names = [entry["name"] for entry in info["categories"]]
    assert names == sorted(map(str, range(12)))  # in the order of their text, as MindSpore
    assert sum(entry["count"] for entry in info["categories"]) == 100
    number = names.index("10")
    rows = page.read_at_page_by_id(number, 0, 5)
    assert [row["label"] for row in rows] == [10] * 5
    assert page.read_at_page_by_name("10", 1, 5)[0]["v"].tolist() == [
        46,
        46,
    ]  # the sixth: 10, 22, 58, 70 lie in x0
    for call in (
        lambda: page.read_at_page_by_id(12, 0, 1),
        lambda: page.read_at_page_by_id(0, 9, 9),
        lambda: page.read_at_page_by_name("no", 0, 1),
    ):
        with pytest.raises(DataError):
            call()
    for arguments in ((-1, 0, 1), (0, -1, 1), (0, 0, 0), ("0", 0, 1), (True, 0, 1)):
        with pytest.raises(ArgumentValueError):
            page.read_at_page_by_id(*arguments)
    with pytest.raises(ArgumentTypeError):
        page.category_field = 3
    with pytest.raises(ArgumentValueError):
        page.category_field = "v"


def test_categories_of_floats_and_of_text_with_nul_are_exact(tmp_path):
    values = [0.1 + 0.2, 0.3, 1.0, 1e30]
    path = write(
        tmp_path / "x",
        {"f": {"type": "float64"}, "s": {"type": "string"}},
        [[{"f": f, "s": f"a\0{n}"} for n, f in enumerate(values)]],
    )
    page = MindPage(str(path))
    page.category_field = "f"
    names = [entry["name"] for entry in json.loads(page.read_category_info())["categories"]]
    assert names == ["0.3", "0.30000000000000004", "1.0", "1.0e+30"]
    assert [page.read_at_page_by_name(name, 0, 9)[0]["f"] for name in names] == [0.3, 0.1 + 0.2, 1.0, 1e30]
    page.category_field = "s"
    assert page.read_at_page_by_name("a\x002", 0, 9) == [{"f": 1.0, "s": "a\0" + "2"}]


def test_close_inside_a_loop_ends_it(tmp_path):
    write(tmp_path / "x", {"n": {"type": "int32"}}, [[{"n": k} for k in range(10)]])
    reader, seen = FileReader(str(tmp_path / "x")), 0
    for _ in reader.get_next():
        seen += 1
        if seen == 3:
            reader.close()
    assert seen == 3
    assert list(reader.get_next()) == []
    reader.close()
    assert reader.len() == 10

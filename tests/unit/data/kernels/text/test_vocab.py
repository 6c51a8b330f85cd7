"""Vocab: how it is made, what it tells, what it refuses, and that it is one thing wherever it goes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
from millrace._src.core import settings
from millrace._src.core.errors import FormatError
from millrace._src.data.kernels.text.vocab import Vocab
from millrace._src.data.plan.fingerprint.plan_fingerprint import compute_fingerprint


def test_special_tokens_first_or_last():
    first = Vocab.from_list(["b", "a", "c"], ["<pad>", "<unk>"])
    assert first.vocab() == {"<pad>": 0, "<unk>": 1, "b": 2, "a": 3, "c": 4}
    last = Vocab.from_list(["b", "a", "c"], ["<pad>", "<unk>"], False)
    assert last.vocab() == {"b": 0, "a": 1, "c": 2, "<pad>": 3, "<unk>": 4}


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Vocab.from_list(["b", "a", "b"]), ValueError, "word_list contains duplicate word: b."),
        (
            lambda: Vocab.from_list(["b"], ["x", "x"]),
            ValueError,
            "special_tokens contains duplicate word: x.",
        ),
        (
            lambda: Vocab.from_list(["b", "a"], ["a"]),
            ValueError,
            "special_tokens and word_list contain duplicate word :{'a'}.",
        ),
        (
            lambda: Vocab.from_list("ab"),
            TypeError,
            "Argument word_list with value ab is not of type [<class 'list'>]",
        ),
        (
            lambda: Vocab.from_list([1]),
            TypeError,
            "Argument word_list with value 1 is not of type [<class 'str'>]",
        ),
        (
            lambda: Vocab.from_list(["a"], special_first=1),
            TypeError,
            "Argument special_first with value 1 is not",
        ),
        (lambda: Vocab.from_dict({"a": -1}), ValueError, "Input word_id is not within the required interval"),
        (
            lambda: Vocab.from_dict({"a": 2**31}),
            ValueError,
            "Input word_id is not within the required interval",
        ),
        (
            lambda: Vocab.from_dict({"a": True}),
            TypeError,
            "Argument word_id with value True is not of type (<class 'int'>,)",
        ),
        (
            lambda: Vocab.from_dict({1: 1}),
            TypeError,
            "Argument word with value 1 is not of type [<class 'str'>]",
        ),
        (
            lambda: Vocab.from_dict([1]),
            TypeError,
            "Argument word_dict with value [1] is not of type [<class 'dict'>]",
        ),
        (
            lambda: Vocab().vocab(),
            RuntimeError,
            "The Vocab has not built yet, got type <class 'NoneType'>. Use Vocab.",
        ),
        (lambda: Vocab().tokens_to_ids("a"), RuntimeError, "The Vocab has not built yet"),
        (
            lambda: Vocab.from_file(1),
            TypeError,
            "Argument file_path with value 1 is not of type [<class 'str'>]",
        ),
        (lambda: Vocab.from_file("v", vocab_size=0), ValueError, "Input vocab_size must be greater than 0."),
        (
            lambda: Vocab.from_dataset([1]),
            TypeError,
            "Argument dataset is not a dataset, but got <class 'list'>",
        ),
    ],
)
def test_what_it_refuses(make, error, words):
    with pytest.raises(error) as raised:
        make()
    assert words in str(raised.value)


def test_words_to_numbers_and_back():
    vocab = Vocab.from_list(["w1", "w2", "w3"])
    asked = [
        "w1",
        ["w1", "x"],
        np.array(["w1", "w2"]),
        np.array("w1"),
        [],
        ["w2"],
        np.array([b"w1"]),
        [np.str_("w3")],
    ]
    assert [vocab.tokens_to_ids(a) for a in asked] == [0, [0, -1], [0, 1], 0, [], 1, 0, 2]
    asked = [1, [1, 2, 9], np.array([0, 1]), np.array(1), [], [np.int64(2)], np.array([-1]), 99]
    assert [vocab.ids_to_tokens(a) for a in asked] == [
        "w2",
        ["w2", "w3", ""],
        ["w1", "w2"],
        "w2",
        [],
        "w3",
        "",
        "",
    ]
    for bad in (1, ("w1",), ["w1", 1], np.array([["w1"]]), np.array([1, 2])):
        with pytest.raises(TypeError):
            vocab.tokens_to_ids(bad)
    for bad in ("a", [1.0], [np.int32(1)], True, np.array([1.5]), np.array([[1]])):
        with pytest.raises(TypeError):
            vocab.ids_to_tokens(bad)
    with pytest.raises(
        ValueError, match=r"Input ids\[0\] is not within the required interval of \[0, 2147483647\]"
    ):
        vocab.ids_to_tokens([-1])
    with pytest.raises(ValueError, match="Input ids is not within"):
        vocab.ids_to_tokens(-1)


def test_numbers_of_a_dict_may_have_gaps():
    assert Vocab.from_dict({"a": 5, "b": 1}).ids_to_tokens([5, 1, 0]) == ["a", "b", ""]
    given = {"a": 5}
    vocab = Vocab.from_dict(given)
    given["b"] = 6
    vocab.vocab()["c"] = 7
    assert vocab.vocab() == {"a": 5}


# --- files --------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    def write(data: bytes) -> str:
        path = tmp_path / "vocab.txt"
        path.write_bytes(data)
        return str(path)

    return write


def test_a_file(file):
    path = file(b"a,1\nb,2\n\nc\n d ,x\na2")
    assert Vocab.from_file(path).vocab() == {"a,1": 0, "b,2": 1, "": 2, "c": 3, " d ,x": 4, "a2": 5}
    assert Vocab.from_file(path, ",").vocab() == {"a": 0, "b": 1, "": 2, "c": 3, " d ": 4, "a2": 5}
    assert Vocab.from_file(path, ",", 2, ["<p>"]).vocab() == {"<p>": 0, "a": 1, "b": 2}
    assert Vocab.from_file(path, ",", 2, ["<p>"], False).vocab() == {"a": 0, "b": 1, "<p>": 2}
    assert Vocab.from_file(path, ",", 1, ["c"]).vocab() == {"c": 0, "a": 1}  # the line of c is not read


def test_lines_end_with_a_newline_alone(file):
    assert Vocab.from_file(file(b"a\r\nb\r\n")).vocab() == {"a\r": 0, "b\r": 1}
    assert Vocab.from_file(file("\ufeffa\nb\x0bc\u2028d\n".encode())).vocab() == {
        "\ufeffa": 0,
        "b\x0bc\u2028d": 1,
    }
    assert Vocab.from_file(file(b"")).vocab() == {}


def test_a_file_with_doubles_or_without_text(file, tmp_path):
    path = file(b"a\nb\na\n")
    with pytest.raises(FormatError) as raised:
        Vocab.from_file(path)
    assert "word_list contains duplicate word:a (lines 1 and 3)" in str(raised.value)
    assert path in str(raised.value)
    assert Vocab.from_file(path, vocab_size=2).vocab() == {"a": 0, "b": 1}
    with pytest.raises(
        RuntimeError, match=r"special_tokens and word_list contain duplicate word:b \(line 2\)"
    ):
        Vocab.from_file(path, vocab_size=2, special_tokens=["b"])
    with pytest.raises(RuntimeError, match="line 2 is not text in UTF-8"):
        Vocab.from_file(file(b"a\n\xff\xfe\n"))
    for missing in (str(tmp_path / "none.txt"), str(tmp_path), ""):
        with pytest.raises(RuntimeError, match="Get real path failed, path="):
            Vocab.from_file(missing)


# --- datasets -----------------------------------------------------------------------------------------

ROWS = [["c", "b", "b"], ["a", "a", "d"], ["e", "é", "中"], ["😀", "e", "Z"]]


def dataset(**columns):
    return ds.NumpySlicesDataset(columns, shuffle=False)


def test_a_dataset(no_leaks):
    words = dataset(x=ROWS)
    ordered = ["a", "b", "e", "Z", "c", "d", "é", "中", "😀"]
    assert list(Vocab.from_dataset(words).vocab()) == ordered
    assert list(Vocab.from_dataset(words, "x", top_k=3).vocab()) == ordered[:3]
    assert list(Vocab.from_dataset(words, [], (2, 3)).vocab()) == ordered[:3]
    assert list(Vocab.from_dataset(words, None, (None, 1)).vocab()) == ordered[3:]
    assert list(Vocab.from_dataset(words, None, (2, None)).vocab()) == ordered[:3]
    made = Vocab.from_dataset(words, top_k=2, special_tokens=["<p>"], special_first=False)
    assert made.vocab() == {"a": 0, "b": 1, "<p>": 2}


def test_columns_of_a_dataset(no_leaks):
    two = dataset(x=ROWS, y=[["p"], ["q"], ["p"], ["c"]], z=[1, 2, 3, 4])
    assert Vocab.from_dataset(two, ["y"]).vocab() == {"p": 0, "c": 1, "q": 2}
    assert Vocab.from_dataset(two, ["x", "y"]).tokens_to_ids("c") == 2
    with pytest.raises(RuntimeError, match="only supports string type of input, but got numeric type: int64"):
        Vocab.from_dataset(two)
    with pytest.raises(RuntimeError, match="column name: none does not exist"):
        Vocab.from_dataset(two, "none")
    with pytest.raises(RuntimeError, match="duplicate column names are not allowed: x"):
        Vocab.from_dataset(two, ["x", "x"])
    with pytest.raises(TypeError, match=r"Argument col\[0\] with value 1 is not of type"):
        Vocab.from_dataset(two, 1)
    texts = ds.GeneratorDataset([(np.array("hello world"),), (np.array(b"a"),)], ["t"], shuffle=False)
    assert Vocab.from_dataset(texts).vocab() == {"a": 0, "hello world": 1}


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"freq_range": [1, 2]},
            TypeError,
            "Argument freq_range with value [1, 2] is not of type [<class 'tuple'>]",
        ),
        ({"freq_range": (1, 2, 3)}, ValueError, "freq_range needs to be a tuple of 2 element."),
        (
            {"freq_range": (1.0, 2)},
            ValueError,
            "freq_range needs to be either None or a tuple of 2 integers or an int",
        ),
        (
            {"freq_range": (3, 2)},
            ValueError,
            "frequency range [a,b] should be 0 <= a <= b (a,b are inclusive).",
        ),
        ({"freq_range": (-1, None)}, RuntimeError, "frequency_range [a,b] violates 0 <= a <= b"),
        ({"top_k": 0}, ValueError, "Input top_k must be greater than 0."),
        (
            {"top_k": 1.0},
            TypeError,
            "Argument top_k with value 1.0 is not of type [<class 'int'>, <class 'NoneType'>]",
        ),
        (
            {"special_first": 0},
            TypeError,
            "Argument special_first with value 0 is not of type [<class 'bool'>]",
        ),
        ({"special_tokens": ["a", "a"]}, ValueError, "special_tokens contains duplicate word: a."),
        (
            {"special_tokens": ["c"], "top_k": 1},
            RuntimeError,
            "these special words are already in the vocab: c",
        ),
    ],
)
def test_what_from_dataset_refuses(arguments, error, words):
    with pytest.raises(error) as raised:
        Vocab.from_dataset(dataset(x=ROWS), **arguments)
    assert words in str(raised.value)


# --- one thing wherever it goes -------------------------------------------------------------------------


@given(st.dictionaries(st.text(st.characters()), st.integers(0, 2**31 - 1)))
def test_it_pickles_as_it_is(words):
    vocab = Vocab.from_dict(words)
    again = pickle.loads(pickle.dumps(vocab))
    assert again == vocab
    assert hash(again) == hash(vocab)
    assert len(again) == len(words)
    assert again.vocab() == words
    assert pickle.loads(pickle.dumps(again)).vocab() == words


def test_large_ones_travel_beside_the_pickle_and_arrive_once():
    vocab = Vocab.from_list([f"word{i}" for i in range(50_000)])
    beside: list[pickle.PickleBuffer] = []
    data = pickle.dumps(vocab, protocol=5, buffer_callback=beside.append)
    assert len(data) < 1000
    assert len(beside) == 3
    one, two = (pickle.loads(data, buffers=beside) for _ in range(2))
    assert one is two
    assert one.tokens_to_ids("word49999") == 49_999
    assert copy.deepcopy(vocab) is vocab
    assert copy.copy(vocab) is vocab


def test_one_that_is_not_made_yet_travels_too():
    with pytest.raises(RuntimeError, match="has not built yet"):
        pickle.loads(pickle.dumps(Vocab())).vocab()


def test_threads_get_one_answer():
    vocab = pickle.loads(pickle.dumps(Vocab.from_list([f"w{i}" for i in range(10_000)])))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(vocab.tokens_to_ids("w9999"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [9999] * 8


def test_identity_is_of_the_contents():
    class Find:
        def __init__(self, vocab):
            self.vocab = vocab

        def __call__(self, x):
            return x

    def text(vocab):
        data = ds.NumpySlicesDataset(["a"]).map(Find(vocab))
        return compute_fingerprint(data._node, settings.current()).text

    words = [f"w{i}" for i in range(1000)]
    one = text(Vocab.from_list(words))
    assert (
        one
        == text(Vocab.from_list(list(words)))
        == text(Vocab.from_dict({w: i for i, w in enumerate(words)}))
    )
    assert one != text(Vocab.from_list([*words, "more"]))
    assert one != text(Vocab.from_dict({w: i + 1 for i, w in enumerate(words)}))


def test_the_hash_is_the_same_in_another_process():
    code = "from millrace.dataset.text import Vocab; print(Vocab.from_list(['a', 'é', '中']).digest.hex())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == Vocab.from_list(["a", "é", "中"]).digest.hex()
    assert Vocab.from_list(["ab", "c"]) != Vocab.from_list(["a", "bc"])

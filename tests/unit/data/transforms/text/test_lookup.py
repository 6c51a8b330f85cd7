"""Words into numbers, and rows of them made longer and shorter, as a pipeline shows it."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.text as text
from millrace._src.core.errors import DataError
from millrace.common import dtype as mstype

VOCAB = text.Vocab.from_list(["<pad>", "<unk>", "the", "quick", "fox"])
words = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), min_size=1)


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def test_from_text_to_batches_of_numbers(no_leaks):
    data = ds.NumpySlicesDataset({"text": ["the quick fox", "a fox", "the"]}, shuffle=False)
    data = data.map([text.WhitespaceTokenizer(), text.Truncate(2), text.Lookup(VOCAB, "<unk>")], ["text"])
    batch = rows(data.padded_batch(3, pad_info={"text": ([3], 0)}))[0]["text"]
    assert batch.dtype == np.int32
    assert batch.tolist() == [[2, 3, 0], [1, 4, 0], [2, 0, 0]]


@pytest.mark.parametrize("processes", [False, True])
def test_workers_look_up_alike(no_leaks, processes):
    many = text.Vocab.from_list([f"w{i}" for i in range(5000)])
    data = ds.NumpySlicesDataset({"w": [[f"w{i}", f"w{4999 - i}"] for i in range(40)]}, shuffle=False)
    data = data.map(text.Lookup(many), ["w"], num_parallel_workers=2, python_multiprocessing=processes)
    assert [row["w"].tolist() for row in rows(data)] == [[i, 4999 - i] for i in range(40)]


def test_an_unknown_word_is_named_with_its_row(no_leaks):
    data = ds.NumpySlicesDataset({"w": [["the", "fox"], ["the", "cat"]]}, shuffle=False)
    with pytest.raises(DataError) as raised:
        rows(data.map(text.Lookup(VOCAB), ["w"]))
    assert 'token: "cat" doesn\'t exist in vocab' in str(raised.value)
    assert raised.value.context["row"] == 1


def test_rows_without_words(no_leaks):
    empty = ds.GeneratorDataset([(np.array([], "U1"),)], ["w"], shuffle=False)
    assert rows(empty.map(text.Lookup(VOCAB), ["w"]))[0]["w"].tolist() == []
    assert rows(empty.map(text.ToNumber(mstype.int8), ["w"]))[0]["w"].dtype == np.int8
    assert rows(empty.map(text.AddToken("a"), ["w"]))[0]["w"].tolist() == ["a"]
    assert rows(empty.map(text.Ngram(2), ["w"]))[0]["w"].tolist() == [""]
    assert rows(empty.map(text.SlidingWindow(2), ["w"]))[0]["w"].shape == (0,)


def test_two_columns_are_cut_together(no_leaks):
    data = ds.GeneratorDataset([(np.arange(5), np.array(["a", "bb"]))], ["one", "two"], shuffle=False)
    row = rows(data.map(text.TruncateSequencePair(4), ["one", "two"]))[0]
    assert (row["one"].tolist(), row["two"].tolist()) == ([0, 1], ["a", "bb"])


@given(words, words, st.integers(0, 30))
def test_of_a_pair_the_longer_is_cut(one, two, most):
    first, second = text.TruncateSequencePair(most)(one, two)
    wanted = [len(one), len(two)]
    while sum(wanted) > most:
        wanted[0 if wanted[0] > wanted[1] else 1] -= 1
    assert [len(first), len(second)] == wanted
    assert first.tolist() == one[: wanted[0]]
    assert second.tolist() == two[: wanted[1]]


@given(words, st.integers(1, 5))
def test_ngrams_of_any_text(some, n):
    made = text.Ngram(n, separator="|")(some).tolist()
    assert made == (["|".join(some[i : i + n]) for i in range(len(some) - n + 1)] or [""])


@given(
    st.lists(st.integers(-(2**70), 2**70), min_size=1), st.sampled_from(["int8", "uint16", "int64", "uint64"])
)
def test_whole_numbers_come_back_or_are_out_of_range(numbers, kind):
    info = np.iinfo(kind)
    to_number = text.ToNumber(getattr(mstype, kind))
    if all(info.min <= n <= info.max for n in numbers):
        assert to_number([str(n) for n in numbers]).tolist() == numbers
    else:
        with pytest.raises(RuntimeError, match=f"will be out of bounds if cast to {kind}"):
            to_number([str(n) for n in numbers])


@given(st.lists(st.floats(allow_infinity=False, allow_subnormal=False), min_size=1))
def test_fractions_come_back(numbers):
    made = text.ToNumber(mstype.float64)([repr(n) for n in numbers])
    np.testing.assert_array_equal(made, numbers)


@given(words)
def test_any_text_is_a_number_or_an_error(some):
    for kind in (mstype.int32, mstype.float16, mstype.float32):
        with contextlib.suppress(DataError):  # and nothing else
            assert text.ToNumber(kind)(some).shape == (len(some),)


def test_a_number_of_a_million_digits_is_out_of_range():
    with pytest.raises(RuntimeError, match="will be out of bounds"):
        text.ToNumber(mstype.int64)(["9" * 1_000_000])
    with pytest.raises(RuntimeError, match="will be out of bounds"):
        text.ToNumber(mstype.int64)(["-" + "9" * 10_000])


def test_a_pipeline_with_a_vocabulary_is_written_to_json_and_back(tmp_path):
    (tmp_path / "text.txt").write_text("fox\nthe\n")
    data = ds.TextFileDataset(str(tmp_path / "text.txt"), shuffle=False).map(
        text.Lookup(VOCAB, "<unk>"), ["text"]
    )
    again = ds.deserialize(ds.serialize(data))
    assert [row["text"].item() for row in rows(again)] == [4, 2]

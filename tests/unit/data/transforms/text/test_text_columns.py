"""Whole columns of text give what their rows give, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millrace.dataset as ds
import millrace.dataset.text as text
import millrace.dataset.transforms as transforms
from millrace._src.core.values.columns import RaggedColumn, StringColumn, as_ragged_column, as_string_column
from millrace.common import dtype as mstype
from tests.parity.data.text.inputs import FILES

VOCAB = text.Vocab.from_list(["<unk>", "the", "mill", "中", "1"])
VECTORS = text.Vectors.from_file(f"{FILES}/vectors.txt")
WORDS = {
    "lookup": text.Lookup(VOCAB, "<unk>"),
    "lookup16": text.Lookup(VOCAB, "<unk>", mstype.float16),
    "truncate": text.Truncate(2),
    "add first": text.AddToken("[CLS]"),
    "add last": text.AddToken("[SEP]", False),
    "ngram": text.Ngram([1, 2, 3], ("<", 1), ("", 0), "-"),
    "vectors": text.ToVectors(VECTORS, [1, 2, 3], True),
}
LINES = {
    "lookup": text.Lookup(VOCAB, "<unk>"),
    "vectors": text.ToVectors(VECTORS),
    "pieces": text.SentencePieceTokenizer(f"{FILES}/pieces.model", text.SPieceTokenizerOutType.STRING),
    "numbers": text.SentencePieceTokenizer(f"{FILES}/pieces.model", text.SPieceTokenizerOutType.INT),
}
a_word = st.one_of(
    st.sampled_from(["the", "mill", "中", "1", "", "Two", "x"]), st.text("aé中 😀", max_size=3)
)
tables = st.lists(st.lists(a_word, max_size=5), min_size=1, max_size=6)


def same(column: Any, wanted: list[Any]) -> None:
    assert len(column) == len(wanted)
    for made, row in zip(column, wanted, strict=True):
        made = np.asarray(made)
        assert made.shape == row.shape
        assert made.dtype.kind == row.dtype.kind
        assert made.tolist() == row.tolist()


@pytest.mark.parametrize("name", list(WORDS))
@given(table=tables)
def test_rows_of_words(name, table):
    column = StringColumn.of_lists(table)
    same(WORDS[name].batch(column), [WORDS[name].row(value) for value in column])


@pytest.mark.parametrize("name", list(LINES))
@given(lines=st.lists(a_word, min_size=1))
def test_one_text_a_row(name, lines):
    column = StringColumn.of(lines)
    same(LINES[name].batch(column), [LINES[name].row(value) for value in column])


@given(st.lists(st.lists(st.integers(-99, 99), max_size=5), min_size=1))
def test_numbers(table):
    column = StringColumn.of_lists([[str(n) for n in row] for row in table])
    to_number = text.ToNumber(mstype.int16)
    same(to_number.batch(column), [to_number.row(value) for value in column])
    ragged = as_ragged_column([np.array(row, np.int32) for row in table])
    for op in (text.Truncate(3), transforms.PadEnd([3], -1), transforms.PadEnd([4])):
        same(op.batch(ragged), [op.row(value) for value in ragged])


@given(tables, st.integers(0, 9))
def test_pairs(table, most):
    one, two = StringColumn.of_lists(table), as_ragged_column([np.arange(len(row) // 2) for row in table])
    cut = text.TruncateSequencePair(most)
    first, second = cut.batch(one, two)
    wanted = [cut.row(a, b) for a, b in zip(one, two, strict=True)]
    same(first, [a for a, _ in wanted])
    same(second, [b for _, b in wanted])
    dense = np.arange(4 * len(table)).reshape(len(table), 4)
    first, second = cut.batch(dense, two)
    same(first, [cut.row(a, b)[0] for a, b in zip(dense, two, strict=True)])


def test_what_is_not_taken_is_left_to_the_rows():
    lines = StringColumn.of(["a", "b"])
    for op in (text.Truncate(2), text.AddToken("a"), text.Ngram(2)):
        assert op.batch(lines) is None
    assert text.Truncate(2).batch(np.arange(3)) is None
    assert transforms.PadEnd([2, 2]).batch(RaggedColumn(np.arange(2), np.array([0, 1, 2]))) is None
    assert text.TruncateSequencePair(2).batch(lines, lines) is None


def test_from_text_to_batches_without_a_row_in_between(no_leaks):
    lines = ["the mill the mill", "中", "", "the 1 x"] * 20
    data = ds.NumpySlicesDataset({"text": lines}, shuffle=False).map(
        [
            text.WhitespaceTokenizer(),
            text.Truncate(3),
            text.Lookup(VOCAB, "<unk>"),
            transforms.PadEnd([3], -1),
        ],
        ["text"],
    )
    made = [row["text"] for row in data.batch(4).create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert len(made) == 20
    for batch in made:
        assert batch.dtype == np.int32
        assert batch.tolist() == [[1, 2, 1], [3, -1, -1], [0, -1, -1], [1, 4, 0]]


def test_columns_of_arrays_become_texts():
    assert as_string_column(np.array([["a", "b"]])).lists() == [["a", "b"]]

"""Columns of text and of rows of unequal length: one run of values with offsets, a sequence of arrays from outside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millrace._src.core.errors import FormatError
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.columns import (
    RaggedColumn,
    StringColumn,
    as_ragged_column,
    as_string_column,
    offsets_of,
)
from millrace._src.data.engine.transport.chunk_codec import decode_chunk, encode_chunk

# arrays of text end where zeros begin
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
LISTS = st.lists(st.lists(WORDS, max_size=4), min_size=1, max_size=8)


def chunk_of(column: object) -> Chunk:
    return Chunk({"x": column}, np.arange(len(column), dtype=np.uint64))


def sent(column: object) -> object:
    """The column after a journey to another process."""
    packed = encode_chunk(chunk_of(column))
    room = np.zeros(packed.size, np.uint8)
    packed.write(room)
    return decode_chunk(room)[0].columns["x"]


@given(LISTS, st.data())
def test_text_is_a_sequence_of_arrays_however_it_is_kept(lists, data) -> None:
    column = StringColumn.of_lists(lists)
    other = StringColumn(column.data, column.offsets, column.rows)
    assert other.strings == [word for words in lists for word in words]
    for each in (column, other, sent(column)):
        assert [value.tolist() for value in each] == lists
        start = data.draw(st.integers(0, len(lists)))
        stop = data.draw(st.integers(start, len(lists)))
        assert [value.tolist() for value in each[start:stop]] == lists[start:stop]
        assert [value.tolist() for value in sent(each[start:stop])] == lists[start:stop]
        picks = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=5))
        assert [value.tolist() for value in each.take(np.array(picks, int))] == [lists[i] for i in picks]
        both = Chunk.concat([chunk_of(each), chunk_of(each[start:stop])])
        assert [value.tolist() for value in both.columns["x"]] == lists + lists[start:stop]


@given(
    st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\n"), max_size=9), min_size=1),
    st.data(),
)
def test_lines_are_what_their_strings_are_whether_they_were_made_or_not(lines, data) -> None:
    plain = [line.encode("ascii", "ignore").decode() for line in lines]
    starts = offsets_of([len(line) + 1 for line in plain])[:-1]
    start = data.draw(st.integers(0, len(lines)))
    stop = data.draw(st.integers(start, len(lines)))

    def made():
        yield StringColumn.of_lines("\n".join(plain).encode(), starts), plain
        for each in (lines, plain):
            column = StringColumn.of(each)
            yield StringColumn(column.data, column.offsets), each

    for column, wanted in made():
        part = column[start:stop]
        for each, strings in ((part, wanted[start:stop]), (column, wanted)):
            stacked, other = each.to_dense(), np.array(strings, np.str_)
            assert stacked.dtype == other.dtype
            assert stacked.tolist() == other.tolist()
            assert each.row_bytes().tolist() == [4 * len(line) for line in strings]
            if strings:
                assert [value.item() for value in sent(each)] == strings
            assert (each.strings, len(each)) == (strings, len(strings))
            assert each.data[each.offsets[0] : each.offsets[-1]].tobytes() == "".join(strings).encode()


@given(st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=8), st.data())
def test_numbers_of_unequal_length_are_a_sequence_of_arrays(lists, data) -> None:
    column = RaggedColumn(
        np.array([x for each in lists for x in each], np.int32), offsets_of([len(x) for x in lists])
    )
    start = data.draw(st.integers(0, len(lists)))
    stop = data.draw(st.integers(start, len(lists)))
    picks = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=5))
    for each in (column, sent(column)):
        assert all(value.dtype == np.int32 for value in each)
        assert [value.tolist() for value in each] == lists
        assert [value.tolist() for value in each[start:stop]] == lists[start:stop]
        assert [value.tolist() for value in each.take(np.array(picks, int))] == [lists[i] for i in picks]
        for length in (0, 2, 5):
            wanted = [(row + [7] * length)[:length] for row in lists]
            assert each.padded(length, 7).tolist() == wanted
    assert [value.tolist() for value in as_ragged_column(list(column))] == lists


def test_rows_of_one_string_have_no_dimensions() -> None:
    column = StringColumn.of(["a", "日本", ""])
    assert [value.shape for value in column] == [(), (), ()]
    assert [value.item() for value in sent(column)] == ["a", "日本", ""]
    assert column.to_dense().tolist() == ["a", "日本", ""]
    assert column[-1].item() == ""
    with pytest.raises(IndexError):
        column[3]


def test_arrays_and_lists_of_text_become_texts_and_nothing_else_does() -> None:
    assert as_string_column(np.array(["a", "b"])).rows is None
    assert as_string_column(np.array([["a", "b"], ["c", "d"]]))[1].tolist() == ["c", "d"]
    assert as_string_column([np.array("a"), np.array("bc")]).strings == ["a", "bc"]
    for other in (np.array([b"a"]), np.arange(3), [np.array("a"), np.array(["b"])], ["a"], [], [np.array(1)]):
        assert as_string_column(other) is None
    for other in ([np.array([1]), np.array([1.0])], [np.array(1)], np.arange(3), [np.array(["a"])], []):
        assert as_ragged_column(other) is None


@pytest.mark.parametrize("where", ["offsets", "rows", "data"])
def test_damaged_runs_are_refused(where) -> None:
    column = StringColumn.of_lists([["añb"], ["c", "d"]])
    packed = encode_chunk(chunk_of(column))
    room = np.zeros(packed.size, np.uint8)
    packed.write(room)
    parts = {"offsets": column.offsets, "rows": column.rows, "data": column.data}
    at = room.tobytes().index(parts[where].tobytes())
    if where == "data":
        room[at + 1] = 0xFF
    else:
        room[at + 8 : at + 16].view(np.int64)[0] = 2 if where == "offsets" else 99
    with pytest.raises(FormatError, match="damaged"):
        decode_chunk(room)

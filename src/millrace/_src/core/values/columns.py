"""Variable-length columns: text, and rows of numbers of unequal length, with offsets.

Such a column stores its values contiguously, with the offset of each, as Arrow does. So a column of lines becomes
tokens, and tokens become numbers, without an array for every row. Its interface is a sequence with one array per row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from .string_array import Utf8Strings

__all__ = ["RaggedColumn", "VariableLengthColumn", "StringColumn", "as_ragged_column", "as_string_column"]

Offsets: TypeAlias = "npt.NDArray[np.int64]"


class VariableLengthColumn(Sequence[Any]):
    """Base class of variable-length columns.

    ``rows`` are the row offsets, from 0 to the number of values; None where each row is one value.
    """

    rows: Offsets | None

    def __len__(self) -> int:
        raise NotImplementedError

    def value(self, i: int) -> npt.NDArray[Any]:
        """Row i as a separate array."""
        raise NotImplementedError

    def slice_rows(self, start: int, stop: int) -> VariableLengthColumn:
        """Rows [start, stop)."""
        raise NotImplementedError

    def take(self, rows: npt.NDArray[np.int64]) -> VariableLengthColumn:
        """The rows at these positions."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Approximate size in bytes."""
        raise NotImplementedError

    def row_bytes(self) -> npt.NDArray[np.int64]:
        """Bytes of each row as an array, independent of the chunk size."""
        raise NotImplementedError

    def to_dense(self) -> npt.NDArray[Any] | None:
        """All rows as one array; None if they differ in length."""
        raise NotImplementedError

    def padded(self, length: int, fill: Any) -> npt.NDArray[Any]:
        """All rows as one array, each padded or truncated to this length."""
        raise NotImplementedError

    def can_concat(self, column: object) -> bool:
        """Whether another column has the same type, so that both can be concatenated."""
        raise NotImplementedError

    @staticmethod
    def concat(parts: Sequence[Any]) -> VariableLengthColumn:
        """Concatenate columns of the same type."""
        raise NotImplementedError

    def copy(self) -> VariableLengthColumn:
        """A copy of the rows in separate memory."""
        return self.take(np.arange(len(self)))

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of values in each row."""
        return np.ones(len(self), np.int64) if self.rows is None else np.diff(self.rows)

    @overload
    def __getitem__(self, i: int) -> npt.NDArray[Any]: ...

    @overload
    def __getitem__(self, i: slice) -> VariableLengthColumn: ...

    def __getitem__(self, i: int | slice) -> npt.NDArray[Any] | VariableLengthColumn:
        if isinstance(i, slice):
            start, stop, step = i.indices(len(self))
            return (
                self.slice_rows(start, max(start, stop))
                if step == 1
                else self.take(np.arange(start, stop, step))
            )
        i = int(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"row {i} of {len(self)}")
        return self.value(i % len(self))

    def __repr__(self) -> str:
        shown = [self.value(i).tolist() for i in range(min(3, len(self)))]
        suffix = f" and {len(self) - 3} more" if len(self) > 3 else ""
        return f"{type(self).__name__}({str(shown)[1:-1]}{suffix})"

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        return map(self.value, range(len(self)))


class StringColumn(VariableLengthColumn):
    """Text: one string per row or, with ``rows``, a list of strings per row.

    It holds strings, or one buffer of UTF-8 with the offsets of the strings in it, and converts between both.

    >>> column = StringColumn.of(["to", "be", "or"], np.array([0, 2, 3]))
    >>> len(column), column[0].tolist(), column.data.tobytes(), column.offsets.tolist()
    (2, ['to', 'be'], b'tobeor', [0, 2, 4, 6])
    >>> StringColumn(column.data, column.offsets).strings
    ['to', 'be', 'or']
    """

    __slots__ = ("_raw", "_strings", "rows")

    def __init__(self, data: npt.NDArray[np.uint8], offsets: Offsets, rows: Offsets | None = None) -> None:
        self._raw: Utf8Strings | None = Utf8Strings(data, offsets, 0)
        self._strings: list[str] | None = None
        self.rows = rows

    @classmethod
    def of(cls, strings: list[str], rows: Offsets | None = None) -> StringColumn:
        """A column of these strings; the list is not copied."""
        return cls._create(None, strings, rows)

    @classmethod
    def of_lines(cls, raw: bytes, starts: Offsets) -> StringColumn:
        """Lines of ASCII separated by newlines; ``starts`` are their offsets. Nothing is copied.

        >>> lines = StringColumn.of_lines(b"to\\nbe\\nor", np.array([0, 3, 6]))
        >>> lines.strings, lines[1:].to_dense(), lines.data.tobytes()
        (['to', 'be', 'or'], array(['be', 'or'], dtype='<U2'), b'tobeor')
        """
        return cls._create(
            Utf8Strings(np.frombuffer(raw, np.uint8), np.append(starts, len(raw) + 1), 1), None, None
        )

    @classmethod
    def _create(
        cls, raw: Utf8Strings | None, strings: list[str] | None, rows: Offsets | None
    ) -> StringColumn:
        column = cls.__new__(cls)
        column._raw, column._strings, column.rows = raw, strings, rows
        return column

    @classmethod
    def of_lists(cls, lists: Sequence[Sequence[str]]) -> StringColumn:
        """A column with a list of strings per row.

        >>> StringColumn.of_lists([["a"], [], ["b", "c"]]).rows.tolist()
        [0, 1, 1, 3]
        """
        strings: list[str] = []
        for row_strings in lists:
            strings += row_strings
        return cls.of(strings, offsets_of(list(map(len, lists))))

    @property
    def strings(self) -> list[str]:
        """All strings, row by row."""
        if self._strings is None:
            assert self._raw is not None
            self._strings = self._raw.strings()
        return self._strings

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The concatenated strings in UTF-8."""
        return self._encoded().data

    @property
    def offsets(self) -> Offsets:
        """The offset of each string in ``data``, and the end of the last one."""
        return self._encoded().offsets

    def _encoded(self) -> Utf8Strings:
        if self._raw is None or self._raw.gap:
            strings = self.strings
            whole = "".join(strings)
            if whole.isascii():
                data, sizes = whole.encode("ascii"), list(map(len, strings))
            else:
                parts = [text.encode() for text in strings]
                data, sizes = b"".join(parts), list(map(len, parts))
            self._raw = Utf8Strings(np.frombuffer(data, np.uint8), offsets_of(sizes), 0)
        return self._raw

    @property
    def total(self) -> int:
        """Number of strings in all rows."""
        if self._strings is not None:
            return len(self._strings)
        assert self._raw is not None
        return len(self._raw.offsets) - 1

    def __len__(self) -> int:
        return self.total if self.rows is None else len(self.rows) - 1

    def value(self, i: int) -> npt.NDArray[Any]:
        if self.rows is None:
            return np.array(self.strings[i])
        return np.array(self.strings[self.rows[i] : self.rows[i + 1]], np.str_)

    def values(self) -> list[npt.NDArray[Any]]:
        """All rows, each as an array."""
        if self.rows is None:
            return list(map(np.array, self.strings))
        strings, offsets = self.strings, self.rows.tolist()
        return [np.array(strings[a:b], np.str_) for a, b in itertools.pairwise(offsets)]

    def lists(self) -> list[list[str]]:
        """The strings of each row."""
        strings = self.strings
        if self.rows is None:
            return [[text] for text in strings]
        offsets = self.rows.tolist()
        return [strings[a:b] for a, b in itertools.pairwise(offsets)]

    def slice_rows(self, start: int, stop: int) -> StringColumn:
        if self.rows is None:
            return self._slice_strings(start, stop, None)
        rows = self.rows[start : stop + 1]
        return self._slice_strings(int(rows[0]), int(rows[-1]), rows - rows[0])

    def _slice_strings(self, start: int, stop: int, rows: Offsets | None) -> StringColumn:
        """Strings [start, stop) with these row offsets."""
        if self._strings is not None:
            return StringColumn.of(self._strings[start:stop], rows)
        assert self._raw is not None
        data, offsets, gap = self._raw
        return StringColumn._create(Utf8Strings(data, offsets[start : stop + 1], gap), None, rows)

    def take(self, rows: npt.NDArray[np.int64]) -> StringColumn:
        strings = self.strings
        if self.rows is None:
            return StringColumn.of([strings[i] for i in rows.tolist()])
        lists = self.lists()
        return StringColumn.of_lists([lists[i] for i in rows.tolist()])

    def can_concat(self, column: object) -> bool:
        return isinstance(column, StringColumn) and (column.rows is None) == (self.rows is None)

    @staticmethod
    def concat(parts: Sequence[StringColumn]) -> StringColumn:
        strings: list[str] = []
        for column in parts:
            strings += column.strings
        return StringColumn.of(strings, _concat_offsets(parts))

    @property
    def nbytes(self) -> int:
        if self._raw is not None:
            offsets = self._raw.offsets
            return int(offsets[-1] - offsets[0]) + offsets.nbytes
        # a string object takes about 50 bytes in addition to its text
        return sum(map(len, self._strings or [])) + 50 * self.total

    def row_bytes(self) -> npt.NDArray[np.int64]:
        if self._raw is not None and self._raw.gap:
            return self._raw.sizes() * 4
        sizes = np.array(list(map(len, self.strings)), np.int64) * 4
        return _sum_by_row(sizes, self.rows)

    def to_dense(self) -> npt.NDArray[Any] | None:
        if self.rows is None:
            return self._dense()
        lengths = self.lengths
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        return self._dense().reshape(len(lengths), int(lengths[0]))

    def _dense(self) -> npt.NDArray[Any]:
        """All strings in one array."""
        if self._strings is None and self._raw is not None:
            array = self._raw.wide()
            if array is not None:
                return array
        return np.array(self.strings, np.str_)

    def padded(self, length: int, fill: Any) -> npt.NDArray[Any]:
        fill = fill.decode() if isinstance(fill, bytes) else str(fill or "")
        lines = [
            (row_strings + [fill] * (length - len(row_strings)))[:length] for row_strings in self.lists()
        ]
        return np.array(lines, np.str_).reshape(len(lines), length)


class RaggedColumn(VariableLengthColumn):
    """Rows of numbers, one-dimensional arrays of different lengths.

    >>> column = RaggedColumn(np.arange(5), np.array([0, 2, 5]))
    >>> column
    RaggedColumn([0, 1], [2, 3, 4])
    >>> column[1].tolist(), column.padded(3, -1).tolist()
    ([2, 3, 4], [[0, 1, -1], [2, 3, 4]])
    """

    __slots__ = ("rows", "values")
    rows: Offsets

    def __init__(self, values: npt.NDArray[Any], rows: Offsets) -> None:
        self.values, self.rows = values, rows

    def __len__(self) -> int:
        return len(self.rows) - 1

    def value(self, i: int) -> npt.NDArray[Any]:
        return self.values[self.rows[i] : self.rows[i + 1]]

    def slice_rows(self, start: int, stop: int) -> RaggedColumn:
        rows = self.rows[start : stop + 1]
        return RaggedColumn(self.values[rows[0] : rows[-1]], rows - rows[0])

    def take(self, rows: npt.NDArray[np.int64]) -> RaggedColumn:
        lengths = self.lengths[rows]
        offsets = offsets_of(lengths)
        # the index of every value: the offset of its row plus the index in the row
        positions = np.repeat(self.rows[rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return RaggedColumn(self.values[positions], offsets)

    def can_concat(self, column: object) -> bool:
        return isinstance(column, RaggedColumn) and column.values.dtype == self.values.dtype

    @staticmethod
    def concat(parts: Sequence[RaggedColumn]) -> RaggedColumn:
        rows = _concat_offsets(parts)
        assert rows is not None
        return RaggedColumn(np.concatenate([column.values for column in parts]), rows)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.rows.nbytes)

    def row_bytes(self) -> npt.NDArray[np.int64]:
        return self.lengths * self.values.dtype.itemsize

    def to_dense(self) -> npt.NDArray[Any] | None:
        lengths = self.lengths
        if not len(lengths) or (lengths != lengths[0]).any():
            return None
        return self.values.reshape(len(lengths), int(lengths[0]))

    def padded(self, length: int, fill: Any) -> npt.NDArray[Any]:
        lengths = self.lengths
        out = np.full((len(lengths), length), fill, self.values.dtype)
        if int(lengths.max(initial=0)) <= length:
            out[np.arange(length) < lengths[:, None]] = self.values
            return out
        for i in range(len(lengths)):
            row = self.value(i)[:length]
            out[i, : len(row)] = row
        return out


def offsets_of(lengths: Any) -> Offsets:
    """The offsets of runs with these lengths, and the end of the last one.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def as_string_column(column: Any) -> StringColumn | None:
    """Convert a column to StringColumn; None if it is not text or its rows have more than one dimension.

    >>> (
    ...     as_string_column(np.array(["a", "bc"])).strings,
    ...     as_string_column([np.array(["x", "y"])]).rows.tolist(),
    ... )
    (['a', 'bc'], [0, 2])
    """
    if isinstance(column, StringColumn):
        return column
    if isinstance(column, np.ndarray):
        if column.dtype.kind != "U" or column.ndim > 2:
            return None
        if column.ndim == 1:
            return StringColumn.of(column.tolist())
        return StringColumn.of(column.ravel().tolist(), np.arange(len(column) + 1) * column.shape[1])
    if not isinstance(column, list) or not column:
        return None
    ranks = {array.ndim if type(array) is np.ndarray and array.dtype.kind == "U" else -1 for array in column}
    if ranks == {0}:
        return StringColumn.of([array.item() for array in column])
    return StringColumn.of_lists([array.tolist() for array in column]) if ranks == {1} else None


def as_ragged_column(column: Any) -> RaggedColumn | None:
    """Convert a list of one-dimensional arrays of one dtype to RaggedColumn; None for anything else.

    >>> as_ragged_column([np.array([1, 2]), np.array([3])]).rows.tolist()
    [0, 2, 3]
    """
    if isinstance(column, RaggedColumn):
        return column
    if not isinstance(column, list) or not column:
        return None
    signatures = {(array.ndim, array.dtype) if type(array) is np.ndarray else (-1, None) for array in column}
    if len(signatures) != 1:
        return None
    rank, dtype = signatures.pop()
    if rank != 1 or dtype is None or dtype.kind not in "biufc":
        return None
    return RaggedColumn(np.concatenate(column), offsets_of(list(map(len, column))))


def _concat_offsets(parts: Sequence[VariableLengthColumn]) -> Offsets | None:
    if parts[0].rows is None:
        return None
    return offsets_of(np.concatenate([column.lengths for column in parts]))


def _sum_by_row(sizes: npt.NDArray[np.int64], rows: Offsets | None) -> npt.NDArray[np.int64]:
    if rows is None:
        return sizes
    return np.diff(offsets_of(sizes)[rows])

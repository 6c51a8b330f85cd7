"""Build columns from rows; each value is copied into its column when it arrives.

A source may return views of its data or refill one buffer for every row, so its values must be copied;
copying directly into the column is the only copy that a row then needs until it is in a batch.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np

from .batch_buffers import ChunkBufferPool
from .chunk import Column, make_column, nbytes_of, normalize_value

__all__ = ["ChunkBuilder"]

ColumnHandlers: TypeAlias = "tuple[list[tuple[int, Any, Any, Any]], list[tuple[int, Any, Any]], list[int]]"


class ChunkBuilder:
    """Builds the columns of up to ``rows`` rows.

    Arrays of one shape and dtype go into one dense array; a column whose rows differ becomes a list.

    >>> builder = ChunkBuilder(["x", "y"], rows=2)
    >>> builder.add((np.zeros(2), 1))
    >>> builder.add((np.ones(2), 2))
    >>> columns = builder.finish()
    >>> columns["x"].tolist(), columns["y"].tolist()
    ([[0.0, 0.0], [1.0, 1.0]], [1, 2])
    """

    def __init__(
        self,
        columns: list[str],
        rows: int,
        most_bytes: int | None = None,
        passing: ChunkBufferPool | None = None,
    ) -> None:
        self.columns, self.rows, self.count = columns, rows, 0
        # with a limit, the builder is full after fewer large rows; the size of the first row is used
        self._most_bytes = most_bytes
        self._passing = passing
        self._dense: list[Any] = [None] * len(columns)
        self._lists: list[list[Any]] = [[] for _ in columns]
        # how the next values are added if they are like the first: columns with a dense array, its shape and dtype;
        # columns with the type of values that are appended to a list; and all others
        self._handlers: ColumnHandlers = ([], [], [])

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row; only immutable values are kept by reference."""
        self._extend((row,), None)

    def extend(self, rows: Iterable[Any], shaped: Callable[[Any], tuple[Any, ...]] | None = None) -> None:
        """Add rows one by one; if one of them fails, ``count`` is the number of rows before it.

        ``shaped`` converts a row that is not a tuple with a value for each column.
        """
        rows = iter(rows)
        if self.count == 0:
            for row in rows:
                self._extend((row,), shaped)
                break
        dense, plain, generic = self._handlers
        if len(dense) == len(plain) == 1 and not generic:
            rows = self._extend_pairs(rows, dense[0], plain[0])
        self._extend(rows, shaped)

    def _extend_pairs(
        self, rows: Iterator[Any], dense: tuple[int, Any, Any, Any], plain: tuple[int, Any, Any]
    ) -> Any:
        """Add rows of one array and one plain value, the most common case; return the rest from the first other row
        on.
        """
        array = np.ndarray
        (c, buffer, shape, dtype), (d, value_type, append) = dense, plain
        k = self.count
        try:
            for row in rows:
                if type(row) is tuple and len(row) == 2:
                    value, plain_value = row[c], row[d]
                    if (
                        type(value) is array
                        and value.dtype is dtype
                        and value.shape == shape
                        and type(plain_value) is value_type
                    ):
                        buffer[k] = value
                        append(plain_value)
                        k += 1
                        continue
                return itertools.chain((row,), rows)
        finally:
            self.count = k
        return ()

    def _extend(self, rows: Iterable[Any], shaped: Callable[[Any], tuple[Any, ...]] | None) -> None:
        width, array = len(self.columns), np.ndarray
        dense, plain, generic = self._handlers
        k, changed = self.count, False
        try:
            for row in rows:
                if shaped is not None and (type(row) is not tuple or len(row) != width):
                    row = shaped(row)
                if k == 0:
                    dense, plain, generic = self._begin(row)
                for c, buffer, shape, dtype in dense:
                    value = row[c]
                    if type(value) is array and value.dtype is dtype and value.shape == shape:
                        buffer[k] = value
                    else:
                        self._add_mismatched(c, k, value)
                        changed = True
                for c, value_type, append in plain:
                    value = row[c]
                    if type(value) is value_type:
                        append(value)
                    else:
                        self._add_mismatched(c, k, value)
                for c in generic:
                    self._add_mismatched(c, k, row[c])
                k += 1
                if changed:
                    dense, plain, generic = self._handlers
                    changed = False
        except BaseException:
            for values in self._lists:
                del values[k:]  # drop the first columns of the failed row
            raise
        finally:
            self.count = k

    def _add_mismatched(self, c: int, k: int, value: Any) -> None:
        """Add a value that differs in type or shape from the first of its column."""
        if type(value) is np.ndarray:
            base: Any = value.base
            value = value if type(base) is bytes else value.copy()
        elif not _is_safe(type(value)):
            value = _as_owned_array(value)
        self._append(c, k, value)

    def _append(self, c: int, k: int, value: Any) -> None:
        """Append a value to the list of its column; a dense column is converted to a list first."""
        buffer = self._dense[c]
        if type(value) is np.ndarray and value.dtype.hasobject:
            value = normalize_value(value)
        if buffer is not None:
            if type(value) is np.ndarray and value.dtype == buffer.dtype and value.shape == buffer.shape[1:]:
                buffer[k] = value
                return
            self._lists[c] = [buffer[i, ...] for i in range(k)]
            self._dense[c] = None
            dense, plain, generic = self._handlers
            self._handlers = [handler for handler in dense if handler[0] != c], plain, [*generic, c]
            value = normalize_value(value)
        self._lists[c].append(value)

    @property
    def full(self) -> bool:
        return self.count >= self.rows

    def _begin(self, row: tuple[Any, ...]) -> ColumnHandlers:
        row = tuple([v if type(v) is np.ndarray or _is_safe(type(v)) else _as_owned_array(v) for v in row])
        if self._most_bytes is not None:
            self.rows = max(1, min(self.rows, self._most_bytes // max(1, nbytes_of(row))))
        dense_columns, plain, generic = self._handlers = ([], [], [])
        for c, value in enumerate(row):
            value_type = type(value)
            if value_type is np.ndarray and value.dtype.kind in "biufc":
                shape, dtype = value.shape, value.dtype
                whole = (self.rows, *shape)
                dense = np.empty(whole, dtype) if self._passing is None else self._passing.array(whole, dtype)
                self._dense[c] = dense
                dense_columns.append((c, dense, shape, dtype))
            elif _is_safe(value_type):
                plain.append((c, value_type, self._lists[c].append))
            else:
                generic.append(c)
        return self._handlers

    def finish(self) -> dict[str, Column]:
        """The columns of the added rows."""
        columns: dict[str, Column] = {}
        for c, name in enumerate(self.columns):
            dense = self._dense[c]
            columns[name] = make_column(self._lists[c]) if dense is None else dense[: self.count]
        return columns


# immutable types, and dict, which is kept as it is
_SAFE = frozenset({int, float, complex, bool, str, bytes, dict, np.str_, np.bytes_, np.bool_})


def _is_safe(value_type: type) -> bool:
    return value_type in _SAFE or issubclass(value_type, np.generic)


def _as_owned_array(value: Any) -> Any:
    """Convert a tensor, an image or a list to an array that shares no memory."""
    array = normalize_value(value)
    shares = isinstance(array, np.ndarray) and not isinstance(value, (list, tuple))
    return array.copy() if shares else array

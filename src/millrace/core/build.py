"""Rows gathered into columns, each value copied into its place as soon as it arrives.

A source may hand out views of its own data or refill one buffer for every row, so nothing it gives may be kept;
and copying straight into the column is the only copy a row then needs on its way into a batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .chunk import Column, as_value, column_of, nbytes_of

__all__ = ["RowsBuilder"]


class RowsBuilder:
    """Up to ``rows`` rows of ``width`` values.

    Arrays of one shape and type go into one dense array; a column whose rows differ becomes a list.

    >>> builder = RowsBuilder(["x", "y"], rows=2)
    >>> builder.add((np.zeros(2), 1))
    >>> builder.add((np.ones(2), 2))
    >>> columns = builder.finish()
    >>> columns["x"].tolist(), columns["y"].tolist()
    ([[0.0, 0.0], [1.0, 1.0]], [1, 2])
    """

    def __init__(self, columns: list[str], rows: int, most_bytes: int | None = None) -> None:
        self.columns, self.rows, self.count = columns, rows, 0
        # with a limit, large rows make the builder full earlier; the first row tells how large they are
        self._most_bytes = most_bytes
        self._dense: list[Any] = [None] * len(columns)
        self._shapes: list[Any] = [None] * len(columns)
        self._dtypes: list[Any] = [None] * len(columns)
        self._lists: list[list[Any]] = [[] for _ in columns]

    def add(self, row: tuple[Any, ...]) -> None:
        """Take one row; nothing of it is kept by reference unless it cannot change."""
        self.extend((row,))

    def extend(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take rows one by one; when one of them fails, ``count`` says how many came before it."""
        dense, shapes, dtypes = self._dense, self._shapes, self._dtypes
        columns = range(len(self.columns))
        k = self.count
        try:
            for row in rows:
                if k == 0:
                    self._begin(row)
                for c in columns:
                    value = row[c]
                    if type(value) is np.ndarray:
                        buffer = dense[c]
                        if buffer is not None and value.dtype is dtypes[c] and value.shape == shapes[c]:
                            buffer[k] = value
                            continue
                        base: Any = value.base
                        value = value if type(base) is bytes else value.copy()
                    elif type(value) not in _SAFE:
                        value = _settled(value)
                    self._append(c, k, value)
                k += 1
        finally:
            self.count = k

    def _append(self, c: int, k: int, value: Any) -> None:
        """A value that does not fit into the dense column, or has none."""
        buffer = self._dense[c]
        if type(value) is np.ndarray and value.dtype.hasobject:
            value = as_value(value)
        if buffer is not None:
            if type(value) is np.ndarray and value.dtype == buffer.dtype and value.shape == buffer.shape[1:]:
                buffer[k] = value
                return
            self._lists[c] = [buffer[i, ...] for i in range(k)]
            self._dense[c] = None
            value = as_value(value)
        self._lists[c].append(value)

    @property
    def full(self) -> bool:
        return self.count >= self.rows

    def _begin(self, row: tuple[Any, ...]) -> None:
        row = tuple([v if type(v) is np.ndarray or type(v) in _SAFE else _settled(v) for v in row])
        if self._most_bytes is not None:
            self.rows = max(1, min(self.rows, self._most_bytes // max(1, nbytes_of(row))))
        for c, value in enumerate(row):
            if type(value) is np.ndarray and value.dtype.kind in "biufc":
                self._dense[c] = np.empty((self.rows, *value.shape), value.dtype)
                self._shapes[c], self._dtypes[c] = value.shape, value.dtype

    def finish(self) -> dict[str, Column]:
        """The columns of the rows that were added."""
        made: dict[str, Column] = {}
        for c, name in enumerate(self.columns):
            dense = self._dense[c]
            made[name] = column_of(self._lists[c]) if dense is None else dense[: self.count]
        return made


# values that cannot change under us, and dicts, which stay what they are
_SAFE = frozenset({int, float, complex, bool, str, bytes, dict, np.str_, np.bytes_, np.bool_})


def _settled(value: Any) -> Any:
    """Numbers of numpy as they are; tensors, images and lists as an array of our own."""
    if isinstance(value, np.generic):
        return value
    made = as_value(value)
    shares = isinstance(made, np.ndarray) and not isinstance(value, (list, tuple))
    return made.copy() if shares else made

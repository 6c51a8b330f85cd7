"""Gather rows from several row groups into contiguous columns in request order, optionally into preallocated batch
memory.

A row is copied once, out of its row group. The caller may provide the destination of large rows: the batch that they
will be part of, so that they need not be stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from millrace._src.core.values.batch_buffers import LEAST_BYTES
from millrace._src.core.values.chunk import Chunk, Column, column_value
from millrace._src.core.values.columns import StringColumn, VariableLengthColumn

__all__ = ["Into", "RowSelection", "gather_columns", "writable_column"]

# (column, index of the requested row, shape, dtype) -> the memory that the row is copied to, or None to allocate it
Into = Callable[[str, int, tuple[int, ...], "np.dtype[Any]"], "npt.NDArray[Any] | None"]


class RowSelection(NamedTuple):
    """Rows of one row group: their positions in the request, the row group's chunk, and their positions in it."""

    at: npt.NDArray[np.int64]
    chunk: Chunk
    rows: npt.NDArray[np.int64]


def writable_column(column: Column, name: str = "", into: Into | None = None) -> Column:
    """The column in memory that the next op may write to."""
    if isinstance(column, StringColumn):
        return column  # strings are never written to
    if isinstance(column, VariableLengthColumn):
        return column.copy()
    if isinstance(column, np.ndarray) and not (into and _has_large_rows(column)):
        return column.copy()
    return [_copy_value(column[i], name, i, into) for i in range(len(column))]


def gather_columns(
    parts: Sequence[RowSelection], names: Iterable[str], count: int, into: Into | None = None
) -> dict[str, Column]:
    """The columns of these rows. With a single row group, rows are in the order of that selection."""
    return {name: _gather_column(parts, name, count, into) for name in names}


def _gather_column(parts: Sequence[RowSelection], name: str, count: int, into: Into | None) -> Column:
    columns = [part.chunk.columns[name] for part in parts]
    if any(isinstance(column, VariableLengthColumn) for column in columns):
        return _gather_variable_length(parts, name, count)
    first = columns[0]
    dense = isinstance(first, np.ndarray) and all(_same_row_type(first, column) for column in columns)
    if dense and not (into and _has_large_rows(first)):
        return _gather_dense(parts, name, count)
    values: list[Any] = [None] * count
    for part, column in zip(parts, columns, strict=True):
        for i, row in zip(part.at.tolist(), part.rows.tolist(), strict=True):
            values[i] = _copy_value(column_value(column, row), name, i, into)
    return values


def _copy_value(value: Any, name: str, i: int, into: Into | None) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    target = into(name, i, value.shape, value.dtype) if into is not None else None
    if target is None:
        return value.copy()
    target[...] = value
    return target


def _has_large_rows(column: Any) -> bool:
    return len(column) > 0 and column.nbytes >= LEAST_BYTES * len(column)


def _same_row_type(model: Any, column: Column) -> bool:
    return (
        isinstance(column, np.ndarray) and column.dtype == model.dtype and column.shape[1:] == model.shape[1:]
    )


def _gather_dense(parts: Sequence[RowSelection], name: str, count: int) -> npt.NDArray[Any]:
    if len(parts) == 1:
        column: Any = parts[0].chunk.columns[name]
        run = _as_slice(parts[0].rows)
        whole: npt.NDArray[Any] = column[parts[0].rows] if run is None else column[run].copy()
        return whole
    model: Any = parts[0].chunk.columns[name]
    out: npt.NDArray[Any] = np.empty((count, *model.shape[1:]), model.dtype)
    for part in parts:
        column = part.chunk.columns[name]
        if len(part.at) == 1:
            out[part.at[0]] = column[part.rows[0]]
        else:
            out[part.at] = column[part.rows]
    return out


def _as_slice(rows: npt.NDArray[np.int64]) -> slice | None:
    """The rows as a slice if they are consecutive, otherwise None."""
    first, count = int(rows[0]), len(rows)
    if int(rows[-1]) - first != count - 1 or (np.diff(rows) != 1).any():
        return None
    return slice(first, first + count)


def _gather_variable_length(parts: Sequence[RowSelection], name: str, count: int) -> Column:
    """Gather variable-length columns, which are joined as a whole."""
    if len(parts) == 1 and (run := _as_slice(parts[0].rows)) is not None:
        return writable_column(parts[0].chunk.columns[name][run])
    chunks = [Chunk({name: p.chunk.columns[name]}, p.chunk.ids, p.chunk.origin).take(p.rows) for p in parts]
    joined = Chunk.concat(chunks)
    if len(parts) > 1:
        order = np.empty(count, np.int64)
        order[np.concatenate([part.at for part in parts])] = np.arange(count)
        joined = joined.take(order)
    column = joined.columns[name]
    return writable_column(column) if isinstance(column, list) else column  # taking was a copy

"""Collate rows into batch arrays: stacking, padding and dictionaries of arrays.

Shared by batch, padded_batch and bucket_batch_by_length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import BatchShapeError, DataError
from millrace._src.core.machine.host_allocator import HostAllocator
from millrace._src.core.values.chunk import Column, normalize_value, stack_rows
from millrace._src.core.values.columns import VariableLengthColumn
from millrace._src.core.values.string_array import shrink_width

from .map_step import row_values

__all__ = ["collate_column", "dict_of_lists", "pad_columns", "to_row_list"]


def to_row_list(column: Column) -> list[Any]:
    """The rows of a column as a list."""
    return list(row_values(column))


def collate_column(column: Column, name: str, position: int, allocator: HostAllocator | None = None) -> Any:
    """One array for the batch (or one dict of arrays for a column of dicts), in the allocator's memory if given."""
    array = _stack_column(column, name, position, allocator)
    return array if allocator is None or type(array) is not np.ndarray else allocator.copy_if_needed(array)


def _stack_column(column: Column, name: str, position: int, allocator: HostAllocator | None) -> Any:
    if isinstance(column, np.ndarray):
        return shrink_width(column) if column.dtype.kind in "US" else column
    if isinstance(column, VariableLengthColumn):
        stacked = column.to_dense()
        if stacked is None:
            raise _stack_error(to_row_list(column), name, position)
        return stacked
    dense = stack_rows(column, allocator)
    if dense is not None:
        return dense
    if any(isinstance(value, dict) for value in column):
        return _collate_dicts(column, name, position, allocator)
    values = [normalize_value(value) for value in column]
    dense = stack_rows(values, allocator)
    if dense is None:
        raise _stack_error(values, name, position)
    return dense


def _collate_dicts(
    rows: list[Any], name: str, position: int, allocator: HostAllocator | None
) -> dict[Any, Any]:
    _check_keys(rows, name)
    first = rows[0]
    return {
        key: collate_column(
            [v if isinstance(v, dict) else normalize_value(v) for v in (r[key] for r in rows)],
            name,
            position,
            allocator,
        )
        for key in first
    }


def _check_keys(rows: list[Any], name: str) -> None:
    first = next(row for row in rows if isinstance(row, dict))
    for offset, row in enumerate(rows):
        if not isinstance(row, dict) or row.keys() != first.keys():
            raise DataError(
                f"Python dictionary keys do not match when creating a batch: {_odd_key(row, first)}.",
                column=name,
                offset=offset,
            )


def dict_of_lists(rows: list[Any], name: str) -> dict[Any, list[Any]]:
    """A list of dicts from a user function as one dict of lists; the values are not stacked.

    >>> dict_of_lists([{"k": 1}, {"k": 2}], "x")
    {'k': [1, 2]}
    """
    for offset, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(
                f"column {name!r} mixes dicts with other values in one batch: value {offset} is a "
                f"{type(row).__name__}. Return a dict, a list of dicts, or a list without any.",
                column=name,
                offset=offset,
            )
    _check_keys(rows, name)
    return {key: [row[key] for row in rows] for key in rows[0]}


def _odd_key(row: Any, first: dict[Any, Any]) -> str:
    if not isinstance(row, dict):
        return f"this row is a {type(row).__name__}, other rows are dicts"
    for key in row:
        if key not in first:
            return f"{key} was not found in previous rows"
    return f"{next(key for key in first if key not in row)} was not found in this row"


def _stack_error(values: list[Any], name: str, position: int) -> DataError:
    first = values[0]
    for offset, value in enumerate(values):
        if not isinstance(value, np.ndarray):
            return DataError(
                f"column {name!r} holds a {type(value).__name__}, which cannot be stacked into a batch;"
                " convert it to an array in map()",
                column=name,
                offset=offset,
            )
        if value.shape != first.shape:
            return BatchShapeError(
                f"Cannot batch tensors with different shapes in column {position}. First element had shape "
                f"<{_shape(first)}> and this element had shape <{_shape(value)}>. Make them equal in map(), or use "
                f"padded_batch(...), batch(per_batch_map=...) or "
                "bucket_batch_by_length().",
                column=name,
                offset=offset,
            )
        if value.dtype != first.dtype:
            return BatchShapeError(
                f"Cannot batch tensors with different types in column {position}. First element had type "
                f"{first.dtype} and this element had type {value.dtype}. Give every row one type, for example "
                "with map(lambda x: x.astype(np.float32)).",
                column=name,
                offset=offset,
            )
    return DataError(f"column {name!r} cannot be stacked into a batch", column=name)


def _shape(value: Any) -> str:
    return ",".join(map(str, value.shape))


def pad_columns(
    columns: dict[str, Column],
    pad_info: dict[str, tuple[Any, Any]],
    free: int | None = None,
    allocator: HostAllocator | None = None,
) -> dict[str, Column]:
    """Pad the named columns (all when none is named) at the end to one shape.

    A None in the shape means the largest length in the batch, or ``free`` if given. Smaller targets truncate.
    """
    padded = dict(columns)
    for name in pad_info or columns:
        shape, value = pad_info.get(name, (None, None))
        if not pad_info and any(isinstance(row, dict) for row in columns[name][:1]):
            continue  # a column of dicts has no shape; it is stacked unchanged
        padded[name] = _pad_column(columns[name], name, shape, value, free, allocator)
    return padded


def _pad_column(
    column: Column, name: str, shape: Any, fill: Any, free: int | None, allocator: HostAllocator | None
) -> Column:
    runs = column if isinstance(column, VariableLengthColumn) and column.rows is not None else None
    # for variable-length columns one row suffices: all have one rank and dtype
    rows = [normalize_value(row) for row in (to_row_list(column) if runs is None else [runs[0]])]
    rank = rows[0].ndim
    if any(row.ndim != rank for row in rows):
        raise BatchShapeError(f"column {name!r} mixes ranks; padding needs one rank", column=name)
    largest = (
        [max(row.shape[axis] for row in rows) for axis in range(rank)]
        if runs is None
        else [int(runs.lengths.max())]
    )
    if not shape:  # MindSpore treats an empty shape as none
        target = largest
    else:
        if len(shape) != rank:
            raise DataError(
                "Invalid pad_info, rank of pad_shape must be equal to rank of specified column. "
                f"pad_shapes rank:{len(shape)}, column rank: {rank}",
                column=name,
            )
        target = [
            (largest[axis] if free is None else free) if length is None else int(length)
            for axis, length in enumerate(shape)
        ]
    text = rows[0].dtype.kind in "US"
    if text and shape is not None and not isinstance(fill, (str, bytes)):
        raise DataError(
            "PadEnd: can not pad numeric and string tensors together, but got: float32 and string."
            f" Give a text pad value: pad_info={{{name!r}: ({shape}, '')}}.",
            column=name,
        )
    if not text and isinstance(fill, (str, bytes)):
        raise DataError(
            f"PadEnd: can not pad numeric and string tensors together, but got: string and {rows[0].dtype}.",
            column=name,
        )
    if runs is not None:
        return runs.padded(target[0], fill if text else np.asarray(fill or 0).astype(rows[0].dtype))
    dtype = np.result_type(*[row.dtype for row in rows]) if text else rows[0].dtype
    if text and fill:
        dtype = np.result_type(dtype, np.asarray(fill).dtype)
    out_shape = (len(rows), *target)
    out = (
        allocator.array(out_shape, dtype)
        if allocator is not None and not text
        else np.empty(out_shape, dtype)
    )
    out[...] = (
        ("" if dtype.kind == "U" else b"") if text and not fill else np.asarray(fill or 0).astype(dtype)
    )
    for i, row in enumerate(rows):
        if row.dtype != rows[0].dtype and not text:
            raise _stack_error(rows, name, 0)
        window: Any = tuple(
            slice(0, min(have, length)) for have, length in zip(row.shape, target, strict=True)
        )
        out[(i, *window)] = row[window]
    return out

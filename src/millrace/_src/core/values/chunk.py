"""Chunk: columns of equal length with row ids, the unit of work of the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from millrace._src.core.log import warn_once
from millrace._src.core.machine.host_allocator import HostAllocator

from .batch_buffers import contiguous_view
from .columns import StringColumn, VariableLengthColumn

__all__ = ["Chunk", "Column", "normalize_value", "make_column", "column_value", "nbytes_of", "stack_rows"]

# A dense column is one array whose first axis is the row. Text, and numbers in rows of unequal length, are
# variable-length columns (columns.py). Anything else is a list with a value per row.
Column: TypeAlias = "npt.NDArray[Any] | list[Any] | VariableLengthColumn"


class Chunk:
    """Columns of equal length with the ids of their rows. Immutable once it is passed on.

    ``ids`` identify rows independently of order, shard and worker and determine the random numbers; ``origin`` is the
    row's index in its source, for error messages; ``epoch`` and ``start`` are the position in the stream (``start``
    is -1 for rows that are not consecutive).

    >>> chunk = Chunk({"x": np.arange(6).reshape(3, 2)}, np.arange(3, dtype=np.uint64))
    >>> len(chunk), chunk.row(1)["x"].tolist(), len(chunk.slice(1, 3))
    (3, [2, 3], 2)
    """

    __slots__ = ("columns", "epoch", "ids", "origin", "start")

    def __init__(
        self,
        columns: dict[str, Column],
        ids: npt.NDArray[np.uint64],
        origin: npt.NDArray[np.int64] | None = None,
        epoch: int = 0,
        start: int = 0,
    ) -> None:
        self.columns = columns
        self.ids = ids
        self.origin = ids.view(np.int64) if origin is None else origin
        self.epoch = epoch
        self.start = start

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}: {_describe(v)}" for k, v in self.columns.items())
        return f"Chunk({len(self)} rows, {inside})"

    @property
    def nbytes(self) -> int:
        return sum(nbytes_of(column) for column in self.columns.values())

    def row(self, i: int) -> dict[str, Any]:
        return {name: column_value(column, i) for name, column in self.columns.items()}

    def with_columns(self, columns: dict[str, Column]) -> Chunk:
        return Chunk(columns, self.ids, self.origin, self.epoch, self.start)

    def slice(self, start: int, stop: int) -> Chunk:
        """Rows [start, stop) as views."""
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return Chunk(columns, self.ids[start:stop], self.origin[start:stop], self.epoch, self.start + start)

    def take(self, rows: npt.NDArray[Any]) -> Chunk:
        """The rows at these positions (or where a mask is True)."""
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, np.ndarray):
                columns[name] = column[rows]
            elif isinstance(column, VariableLengthColumn):
                columns[name] = column.take(rows)
            else:
                columns[name] = [column[i] for i in rows]
        return Chunk(columns, self.ids[rows], self.origin[rows], self.epoch, self.start)

    @staticmethod
    def concat(chunks: Sequence[Chunk]) -> Chunk:
        """Concatenate chunks with the same columns; dense columns stay dense if shapes and dtypes match."""
        if len(chunks) == 1:
            return chunks[0]
        first = chunks[0]
        columns = {name: _concat_columns([c.columns[name] for c in chunks]) for name in first.columns}
        ids = np.concatenate([c.ids for c in chunks])
        origin = np.concatenate([c.origin for c in chunks])
        return Chunk(columns, ids, origin, first.epoch, first.start)


def _describe(column: Column) -> str:
    if isinstance(column, np.ndarray):
        return f"{column.dtype}{list(column.shape[1:])}"
    return "text" if isinstance(column, StringColumn) else "ragged"


def _concat_columns(parts: list[Column]) -> Column:
    first = parts[0]
    if all(
        isinstance(p, np.ndarray)
        and isinstance(first, np.ndarray)
        and p.dtype == first.dtype
        and p.shape[1:] == first.shape[1:]
        for p in parts
    ):
        return np.concatenate(parts)
    if isinstance(first, VariableLengthColumn) and all(first.can_concat(p) for p in parts):
        return first.concat(parts)
    joined: list[Any] = []
    for part in parts:
        if isinstance(part, np.ndarray):
            joined += [column_value(part, i) for i in range(len(part))]
        else:
            joined += part
    return joined


def column_value(column: Column, i: int) -> Any:
    """The value of one row: an array (0-d for scalars) from a dense column, the object itself otherwise."""
    if not isinstance(column, np.ndarray):
        return column.value(i) if isinstance(column, VariableLengthColumn) else column[i]
    # text in a dense column has the width of the longest in its chunk; shrink it to that of the row
    return np.asarray(column[i]) if column.dtype.kind in "US" else column[i, ...]


def nbytes_of(value: Any) -> int:
    """Size of a column or value in bytes; an estimate for Python objects."""
    if isinstance(value, (np.ndarray, VariableLengthColumn)):
        return int(value.nbytes)
    if isinstance(value, (list, tuple)):
        return sum(map(nbytes_of, value))
    if isinstance(value, (bytes, str, bytearray)):
        return len(value) + 33
    if isinstance(value, Mapping):
        return 64 + sum(map(nbytes_of, value.values()))
    size = getattr(value, "size", None)  # of a PIL image: (width, height)
    if isinstance(size, tuple) and len(size) == 2 and hasattr(value, "getbands"):
        return int(size[0] * size[1] * len(value.getbands()))
    return 64


def normalize_value(value: Any) -> Any:
    """Convert a user's value for the engine: scalars, text and lists become arrays; arrays and dicts are kept.

    >>> normalize_value(3).dtype, normalize_value("hé").dtype.kind, normalize_value([1.5, 2.5]).shape
    (dtype('int64'), 'U', (2,))
    """
    value_type = type(value)
    if value_type is np.ndarray:
        if value.dtype.kind == "O":
            return _from_objects(value)
        return value
    if value_type is dict:
        return value
    host = getattr(value, "asnumpy", None)
    if host is not None:
        warn_once(
            "tensor-in-pipeline",
            f"a {value_type.__name__} came out of a user function and is converted to a numpy array; "
            "data pipelines carry numpy arrays (logged once)",
        )
        return host()
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if isinstance(value, (int, float, complex, np.generic, str, bytes)):
        array = np.asarray(value)
        return _from_objects(array) if array.dtype.kind == "O" else array
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, dict) for item in value):
            return value
        try:
            array = np.asarray(value)
        except ValueError:
            raise TypeError(
                f"a {value_type.__name__} of values with different shapes is not an array; "
                "return one column per shape, or pad them to one shape"
            ) from None
        return _from_objects(array) if array.dtype.kind == "O" else array
    if value is None:
        raise TypeError("got None; every column needs a value (a missing return statement?)")
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        return np.asarray(value)
    return value


def make_column(values: list[Any]) -> Column:
    """Make a column from values; plain numbers and text become one dense array."""
    types = set(map(type, values))
    if len(types) == 1:
        value_type = types.pop()
        if value_type is np.ndarray:
            if any(v.dtype.hasobject for v in values):
                return [normalize_value(v) for v in values]
            return values
        if value_type in _DENSE_TYPES or issubclass(value_type, np.generic):
            try:
                return np.array(values, dtype=_DENSE_TYPES.get(value_type))
            except OverflowError:
                pass
    return [normalize_value(v) for v in values]


_DENSE_TYPES: dict[type, Any] = {int: np.int64, float: np.float64, bool: np.bool_, str: None, bytes: None}


def _from_objects(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert an object array of text or of bytes to a text array; anything else is an error."""
    flat = array.ravel().tolist()
    if flat and all(isinstance(item, str) for item in flat):
        return array.astype(np.str_)
    if flat and all(isinstance(item, bytes) for item in flat):
        return array.astype(np.bytes_)
    type_names = sorted({type(item).__name__ for item in flat}) or ["nothing"]
    raise TypeError(
        f"an array of Python objects ({', '.join(type_names)}) is not a column value; "
        "give it a number or text dtype, or return a dict"
    )


def stack_rows(values: Iterable[Any], allocator: HostAllocator | None = None) -> npt.NDArray[Any] | None:
    """Stack rows into one dense array; None if they differ in shape or dtype or are not arrays."""
    rows = list(values)
    first = rows[0]
    if type(first) is not np.ndarray:
        return None
    shape, dtype = first.shape, first.dtype
    if dtype.kind in "US":  # text widens to the longest
        if any(type(r) is not np.ndarray or r.shape != shape or r.dtype.kind != dtype.kind for r in rows):
            return None
        return np.stack(rows)
    for row in rows:
        if type(row) is not np.ndarray or row.shape != shape or row.dtype != dtype:
            return None
    if shape == ():
        return np.array(rows, dtype)
    whole = contiguous_view(rows)
    if whole is not None:
        return whole
    if allocator is not None and dtype.kind in "biufc":
        out = allocator.array((len(rows), *shape), dtype)
        np.concatenate(rows, out=out.reshape(len(rows) * shape[0], *shape[1:]))
        return out
    return np.concatenate(rows).reshape(len(rows), *shape)

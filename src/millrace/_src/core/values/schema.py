"""Schema: names, dtypes and shapes of columns, as far as they are known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["ColumnType", "Schema"]


@dataclasses.dataclass(frozen=True)
class ColumnType:
    """Dtype and shape of a column; None where unknown, and None inside a shape for a variable axis.

    >>> str(ColumnType(np.dtype("float32"), (28, None)))
    'float32[28, ?]'
    """

    dtype: np.dtype[Any] | None = None
    shape: tuple[int | None, ...] | None = None

    def __str__(self) -> str:
        dtype = "?" if self.dtype is None else ("string" if self.dtype.kind == "U" else str(self.dtype))
        if self.shape is None:
            return dtype
        return f"{dtype}[{', '.join('?' if n is None else str(n) for n in self.shape)}]"

    @staticmethod
    def of(value: Any) -> ColumnType:
        if isinstance(value, np.ndarray):
            return ColumnType(value.dtype, tuple(value.shape))
        return ColumnType()

    def batched(self, size: int | None) -> ColumnType:
        shape = None if self.shape is None else (size, *self.shape)
        return ColumnType(self.dtype, shape)

    @property
    def nbytes(self) -> int | None:
        """Bytes of one value; None where dtype or shape is unknown."""
        if self.dtype is None or self.shape is None or any(n is None for n in self.shape):
            return None
        return int(self.dtype.itemsize * np.prod([n for n in self.shape if n is not None], dtype=np.int64))


class Schema(Mapping[str, ColumnType]):
    """Ordered column names with their types; immutable.

    >>> schema = Schema({"image": ColumnType(), "label": ColumnType(np.dtype("int32"), ())})
    >>> list(schema.project(["label"]))
    ['label']
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Mapping[str, ColumnType] | Iterable[str]) -> None:
        if isinstance(columns, Mapping):
            self._columns: dict[str, ColumnType] = dict(columns)
        else:
            self._columns = {name: ColumnType() for name in columns}

    def __getitem__(self, name: str) -> ColumnType:
        return self._columns[name]

    def __iter__(self) -> Any:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return "Schema(" + ", ".join(f"{k}: {v}" for k, v in self._columns.items()) + ")"

    def project(self, names: Iterable[str]) -> Schema:
        return Schema({name: self._columns[name] for name in names})

    def rename(self, names: Mapping[str, str]) -> Schema:
        return Schema({names.get(name, name): column_type for name, column_type in self._columns.items()})

    @property
    def row_bytes(self) -> int | None:
        sizes = [column_type.nbytes for column_type in self._columns.values()]
        return (
            None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)
        )

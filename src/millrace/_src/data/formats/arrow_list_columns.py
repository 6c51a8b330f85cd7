"""Conversion of Arrow list columns to NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.optional import require
from millrace._src.core.values.chunk import Column

__all__ = ["decode_list_column"]

Array = npt.NDArray[Any]


def decode_list_column(column: Any, name: str, path: str) -> Column:
    """Convert a list column to one array per row, or to one dense array where all lists have the same length.

    A null among numbers becomes NaN, which converts integers to float64. Nested lists become additional axes.

    >>> import pytest
    >>> pa = pytest.importorskip("pyarrow")
    >>> column = pa.chunked_array([pa.array([[1, 2], [3]], pa.list_(pa.int8()))])
    >>> decode_list_column(column, "x", "a.parquet")
    [array([1, 2], dtype=int8), array([3], dtype=int8)]
    """
    array = column.combine_chunks()
    if hasattr(array, "chunks"):  # a column without rows
        array = require("pyarrow", extra="parquet", purpose="reading lists").array([], column.type)
    lists = _ListDecoder(name, path).rows(array)
    return lists.copy() if isinstance(lists, np.ndarray) else lists


class _ListDecoder:
    """Decoder of one list column; name and file are kept for errors."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def error(self, text: str) -> FormatError:
        return FormatError(f"column {self.name!r} {text}", file=self.path)

    def rows(self, array: Any) -> Array | list[Array]:
        """The lists of an array. A dense result may still be a view."""
        if array.null_count:
            raise self.error(f"({array.type}) has lists without a value: fill them first")
        starts, stops, inner = _list_bounds(array)
        if _is_list(inner.type):
            elements = self.rows(inner)
        else:
            elements = self.values(inner)
        lengths = stops - starts
        if isinstance(elements, np.ndarray):
            # views may lie anywhere, in any order, and share elements
            contiguous = bool((starts[1:] == stops[:-1]).all())
            if len(lengths) and contiguous and bool((lengths == lengths[0]).all()):
                shape = (len(lengths), int(lengths[0]), *elements.shape[1:])
                return elements[int(starts[0]) : int(stops[-1])].reshape(shape)
            return [elements[a:b].copy() for a, b in zip(starts.tolist(), stops.tolist())]
        dtype = elements[0].dtype if elements else None
        return [self.stack(elements[a:b], dtype) for a, b in zip(starts.tolist(), stops.tolist())]

    def stack(self, parts: list[Array], dtype: Any) -> Array:
        if not parts:
            return np.empty((0, 0), dtype)
        if any(part.shape != parts[0].shape for part in parts):
            shapes = sorted({part.shape for part in parts})
            raise self.error(
                f"has a row whose lists differ in length ({shapes[0]} and {shapes[1]}): an array needs equal ones; pad "
                "them when the file is written"
            )
        return np.stack(parts)

    def values(self, inner: Any) -> Array:
        arrow_type = str(inner.type)
        is_text = arrow_type in ("string", "large_string", "string_view")
        if inner.null_count and (is_text or "binary" in arrow_type):
            raise self.error(f"({arrow_type} in lists) has elements without a value: fill them first")
        if is_text:
            return np.array(inner.to_pylist(), np.str_)
        elements: Array = inner.to_numpy(zero_copy_only=False)
        if elements.dtype.kind != "O":
            return elements
        items = inner.to_pylist()
        array = np.array(items) if items else np.empty(0)
        try:
            return array if array.dtype.kind != "O" else array.astype(np.float64)
        except (TypeError, ValueError):
            raise self.error(
                f"holds lists of {arrow_type}, which make no array; convert them first"
            ) from None


def _is_list(arrow_type: Any) -> bool:
    return str(arrow_type).startswith(("list", "large_list", "fixed_size_list"))


def _list_bounds(array: Any) -> tuple[Array, Array, Any]:
    """Start and end of each list in the shared elements, and the elements."""
    arrow_type = str(array.type)
    if arrow_type.startswith("fixed_size_list"):
        size = array.type.list_size
        starts = (np.arange(len(array), dtype=np.int64) + array.offset) * size
        return starts, starts + size, array.values
    if "list_view" in arrow_type:
        starts = array.offsets.to_numpy()
        return starts, starts + array.sizes.to_numpy(), array.values
    offsets = array.offsets.to_numpy()
    return offsets[:-1], offsets[1:], array.values

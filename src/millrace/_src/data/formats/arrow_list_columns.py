"""List columns of Arrow: out of their offsets and values, so that the elements keep their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.optional import require
from millrace._src.core.values.chunk import Column

__all__ = ["lists_of"]

Array = npt.NDArray[Any]


def lists_of(column: Any, name: str, path: str) -> Column:
    """An array for each row of a list column; one array of all where the lists are equally long.

    A null among numbers is NaN, which makes a whole number float64. Lists of lists make arrays of more axes.

    >>> import pytest
    >>> pa = pytest.importorskip("pyarrow")
    >>> column = pa.chunked_array([pa.array([[1, 2], [3]], pa.list_(pa.int8()))])
    >>> lists_of(column, "x", "a.parquet")
    [array([1, 2], dtype=int8), array([3], dtype=int8)]
    """
    whole = column.combine_chunks()
    if hasattr(whole, "chunks"):  # a column without rows
        whole = require("pyarrow", extra="parquet", purpose="reading lists").array([], column.type)
    found = _Lists(name, path).rows(whole)
    return found.copy() if isinstance(found, np.ndarray) else found


class _Lists:
    """Where the column stands, for errors."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def error(self, text: str) -> FormatError:
        return FormatError(f"column {self.name!r} {text}", file=self.path)

    def rows(self, array: Any) -> Array | list[Array]:
        """The lists of an array; what they share is not copied yet."""
        if array.null_count:
            raise self.error(f"({array.type}) has lists without a value: fill them first")
        starts, stops, inner = _parts(array)
        if _is_list(inner.type):
            inside = self.rows(inner)
        else:
            inside = self.values(inner)
        lengths = stops - starts
        if isinstance(inside, np.ndarray):
            # views may lie anywhere, in any order, and share elements
            in_turn = bool((starts[1:] == stops[:-1]).all())
            if len(lengths) and in_turn and bool((lengths == lengths[0]).all()):
                shape = (len(lengths), int(lengths[0]), *inside.shape[1:])
                return inside[int(starts[0]) : int(stops[-1])].reshape(shape)
            return [inside[a:b].copy() for a, b in zip(starts.tolist(), stops.tolist())]
        kind = inside[0].dtype if inside else None
        return [self.stacked(inside[a:b], kind) for a, b in zip(starts.tolist(), stops.tolist())]

    def stacked(self, parts: list[Array], kind: Any) -> Array:
        if not parts:
            return np.empty((0, 0), kind)
        if any(part.shape != parts[0].shape for part in parts):
            shapes = sorted({part.shape for part in parts})
            raise self.error(
                f"has a row whose lists differ in length ({shapes[0]} and {shapes[1]}): an array needs equal ones; pad "
                "them when the file is written"
            )
        return np.stack(parts)

    def values(self, inner: Any) -> Array:
        kind = str(inner.type)
        text = kind in ("string", "large_string", "string_view")
        if inner.null_count and (text or "binary" in kind):
            raise self.error(f"({kind} in lists) has elements without a value: fill them first")
        if text:
            return np.array(inner.to_pylist(), np.str_)
        found: Array = inner.to_numpy(zero_copy_only=False)
        if found.dtype.kind != "O":
            return found
        plain = inner.to_pylist()
        made = np.array(plain) if plain else np.empty(0)
        try:
            return made if made.dtype.kind != "O" else made.astype(np.float64)
        except (TypeError, ValueError):
            raise self.error(f"holds lists of {kind}, which make no array; convert them first") from None


def _is_list(kind: Any) -> bool:
    return str(kind).startswith(("list", "large_list", "fixed_size_list"))


def _parts(array: Any) -> tuple[Array, Array, Any]:
    """Where each list begins and ends in the elements of all of them."""
    kind = str(array.type)
    if kind.startswith("fixed_size_list"):
        size = array.type.list_size
        starts = (np.arange(len(array), dtype=np.int64) + array.offset) * size
        return starts, starts + size, array.values
    if "list_view" in kind:
        starts = array.offsets.to_numpy()
        return starts, starts + array.sizes.to_numpy(), array.values
    offsets = array.offsets.to_numpy()
    return offsets[:-1], offsets[1:], array.values

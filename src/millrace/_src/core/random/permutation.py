"""Index orders and permutations: the source row at each position, without reading a row.

An order returns the rows of any block of positions, so a pipeline can start, shard or resume anywhere in it. Orders
compose: ``ComposedOrder(outer, inner)`` first maps a position through ``outer``, then through ``inner``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["ArrayOrder", "ComposedOrder", "Indices", "IndexOrder", "RangeOrder"]

Indices = npt.NDArray[np.int64]


class IndexOrder(Protocol):
    """A finite sequence of row numbers, addressable by position. ``RandomPermutation`` is one too."""

    @property
    def size(self) -> int: ...

    def at(self, start: int, stop: int) -> Indices:
        """The row numbers at positions [start, stop), clipped at the end."""

    def take(self, positions: Indices) -> Indices:
        """The row numbers at these positions, all of which are in range."""


class RangeOrder:
    """``size`` numbers start, start + step, ..., modulo ``modulo`` if it is set.

    >>> RangeOrder(3, start=2, step=3, modulo=7).at(0, 3).tolist()
    [2, 5, 1]
    """

    def __init__(self, size: int, start: int = 0, step: int = 1, modulo: int | None = None) -> None:
        self.size, self.start, self.step, self.modulo = max(0, size), start, step, modulo

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        rows = self.start + self.step * positions
        return rows if self.modulo is None else rows % self.modulo


class ArrayOrder:
    """An explicit list of row numbers.

    >>> ArrayOrder([4, 4, 0]).at(1, 9).tolist()
    [4, 0]
    """

    def __init__(self, rows: Any) -> None:
        self.rows: Indices = np.ascontiguousarray(rows, dtype=np.int64)

    @property
    def size(self) -> int:
        return len(self.rows)

    def at(self, start: int, stop: int) -> Indices:
        return self.rows[start:stop]

    def take(self, positions: Indices) -> Indices:
        return self.rows[positions]


class ComposedOrder:
    """``outer`` selects positions of ``inner``.

    >>> ComposedOrder(ArrayOrder([1, 0]), RangeOrder(5, start=10)).at(0, 2).tolist()
    [11, 10]
    """

    def __init__(self, outer: IndexOrder, inner: IndexOrder) -> None:
        self.outer, self.inner = outer, inner

    @property
    def size(self) -> int:
        return self.outer.size

    def at(self, start: int, stop: int) -> Indices:
        return self.inner.take(self.outer.at(start, stop))

    def take(self, positions: Indices) -> Indices:
        return self.inner.take(self.outer.take(positions))

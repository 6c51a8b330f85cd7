"""What a user's function returns becomes ours: a copy, unless it is plainly made of what the function was given.

A function may return a view of its own data, or refill one buffer for every row; nothing about the value tells. So it
is copied before the next row runs, and copied where it will be needed: rows of one shape and type lie side by side, and
are a dense column as they are. Our own transforms return fresh memory or their input, and are not asked.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.values.batch_buffers import ChunkBufferPool, is_in_batch_buffer
from millrace._src.core.values.chunk import normalize_value

__all__ = ["ResultCollector"]

# what cannot change, and Python's own containers, of which a new array is made
_PLAIN = (np.generic, int, float, str, bytes, list, dict)

# stands for the next row of a pile
KEPT = object()


class DenseBuffer:
    """Copies of arrays, side by side while they have one shape and type."""

    __slots__ = ("block", "count", "dtype", "passing", "rows", "shape")

    def __init__(self, rows: int, passing: ChunkBufferPool) -> None:
        self.rows, self.count, self.passing = rows, 0, passing
        self.block: Any = None
        self.shape: tuple[int, ...] | None = None
        self.dtype: np.dtype[Any] | None = None

    def put(self, value: np.ndarray[Any, Any]) -> Any:
        """KEPT, or a copy of a value that does not lie well beside the others."""
        k = self.count
        if self.block is None and value.dtype.kind in "biufc":
            self.shape, self.dtype = value.shape, value.dtype
            self.block = self.passing.array((self.rows, *value.shape), value.dtype)
        if value.shape != self.shape or value.dtype != self.dtype or k == self.rows:
            return value.copy()
        self.block[k] = value
        self.count = k + 1
        return KEPT

    def column(self, values: list[Any], cut: bool = False) -> npt.NDArray[Any] | list[Any]:
        """The values with their rows of this pile in place; a dense column where there is nothing else.

        ``cut``: the last values were left out, though rows of this pile may stand for them.
        """
        if self.count == len(values) and not cut:
            dense: npt.NDArray[Any] = self.block[: self.count]
            return dense
        if not self.count:
            return values
        rows = itertools.count()
        return [self.block[next(rows), ...] if value is KEPT else value for value in values]


class ResultCollector:
    """Makes the results of a chunk's rows ours; called with each before the next row runs."""

    def __init__(self, rows: int, outputs: int, passing: ChunkBufferPool) -> None:
        self.piles = [DenseBuffer(rows, passing) for _ in range(outputs)]

    def __call__(self, made: Any, given: tuple[Any, ...]) -> Any:
        if type(made) is not tuple:
            return _keep(_settled(made), given, self.piles[0])
        # all of them settled before any is put down: one that cannot be leaves no half a row behind
        parts = [_settled(part) for part in made]
        return tuple(
            [_keep(part, given, pile) for part, pile in zip_longest(parts, self.piles[: len(parts)])]
        )

    def run(self, function: Callable[[Any], Any], values: Sequence[Any], results: list[Any]) -> None:
        """A function of one value on each of them: the shortest way there is."""
        pile, append, array = self.piles[0], results.append, np.ndarray
        block, shape, dtype, k = pile.block, pile.shape, pile.dtype, pile.count
        try:
            for given in values:
                made = function(given)
                if type(made) is array and made.dtype is dtype and made.shape == shape and made is not given:
                    block[k] = made
                    k += 1
                    append(KEPT)
                else:
                    pile.count = k
                    append(self(made, (given,)))
                    block, shape, dtype, k = pile.block, pile.shape, pile.dtype, pile.count
        finally:
            pile.count = k


def _settled(value: Any) -> Any:
    """A tensor as its array, which is the tensor's own memory; anything else as it is."""
    if type(value) is np.ndarray or isinstance(value, _PLAIN):
        return value
    return normalize_value(value) if hasattr(value, "asnumpy") or hasattr(value, "__array__") else value


def _keep(value: Any, given: tuple[Any, ...], pile: DenseBuffer | None) -> Any:
    if type(value) is not np.ndarray:
        return value
    base: Any = value.base
    for one in given:
        if value is one or (base is not None and (base is one or base is getattr(one, "base", None))):
            return value
    if type(base) is bytes or is_in_batch_buffer(value) or value.dtype.kind == "O":
        return value
    return value.copy() if pile is None else pile.put(value)

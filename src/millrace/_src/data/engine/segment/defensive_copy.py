"""Defensive copies of values returned by user functions, laid out as dense columns.

A function may return a view of its internal data, or reuse one buffer for every row; this cannot be detected.
Therefore a value is copied before the next row runs, unless it is based on the function's arguments. The copies are
written directly to their destination: rows of one shape and dtype are contiguous and form a dense column. Millrace's
own transforms return fresh memory or their input, so their results are not copied.
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

# immutable values, and Python containers, from which a new array is created
_SAFE_TYPES = (np.generic, int, float, str, bytes, list, dict)

# marks a value that is stored as the next row of a dense buffer
IN_BUFFER = object()


class DenseBuffer:
    """Copies of arrays in one block while they have the same shape and dtype."""

    __slots__ = ("block", "buffer_pool", "count", "dtype", "rows", "shape")

    def __init__(self, rows: int, buffer_pool: ChunkBufferPool) -> None:
        self.rows, self.count, self.buffer_pool = rows, 0, buffer_pool
        self.block: Any = None
        self.shape: tuple[int, ...] | None = None
        self.dtype: np.dtype[Any] | None = None

    def put(self, value: np.ndarray[Any, Any]) -> Any:
        """Store a value in the block and return the marker, or return a copy if shape or dtype differ."""
        k = self.count
        if self.block is None and value.dtype.kind in "biufc":
            self.shape, self.dtype = value.shape, value.dtype
            self.block = self.buffer_pool.array((self.rows, *value.shape), value.dtype)
        if value.shape != self.shape or value.dtype != self.dtype or k == self.rows:
            return value.copy()
        self.block[k] = value
        self.count = k + 1
        return IN_BUFFER

    def column(self, values: list[Any], cut: bool = False) -> npt.NDArray[Any] | list[Any]:
        """The values with markers replaced by rows of this buffer; a dense column if there is nothing else.

        ``cut``: the last values were dropped, though rows of this buffer may belong to them.
        """
        if self.count == len(values) and not cut:
            dense: npt.NDArray[Any] = self.block[: self.count]
            return dense
        if not self.count:
            return values
        rows = itertools.count()
        return [self.block[next(rows), ...] if value is IN_BUFFER else value for value in values]


class ResultCollector:
    """Copies the results of a chunk's rows; called with each result before the next row runs."""

    def __init__(self, rows: int, outputs: int, buffer_pool: ChunkBufferPool) -> None:
        self.buffers = [DenseBuffer(rows, buffer_pool) for _ in range(outputs)]

    def __call__(self, result: Any, arguments: tuple[Any, ...]) -> Any:
        if type(result) is not tuple:
            return _copy_if_shared(_as_array(result), arguments, self.buffers[0])
        # convert all parts before any is stored: a part that cannot be converted must not leave half a row behind
        parts = [_as_array(part) for part in result]
        return tuple(
            [
                _copy_if_shared(part, arguments, buffer)
                for part, buffer in zip_longest(parts, self.buffers[: len(parts)])
            ]
        )

    def run(self, function: Callable[[Any], Any], values: Sequence[Any], results: list[Any]) -> None:
        """Apply a function of one value to each value; optimized loop."""
        buffer, append, array = self.buffers[0], results.append, np.ndarray
        block, shape, dtype, k = buffer.block, buffer.shape, buffer.dtype, buffer.count
        try:
            for argument in values:
                result = function(argument)
                if (
                    type(result) is array
                    and result.dtype is dtype
                    and result.shape == shape
                    and result is not argument
                ):
                    block[k] = result
                    k += 1
                    append(IN_BUFFER)
                else:
                    buffer.count = k
                    append(self(result, (argument,)))
                    block, shape, dtype, k = buffer.block, buffer.shape, buffer.dtype, buffer.count
        finally:
            buffer.count = k


def _as_array(value: Any) -> Any:
    """The array of a tensor, sharing its memory; other values unchanged."""
    if type(value) is np.ndarray or isinstance(value, _SAFE_TYPES):
        return value
    return normalize_value(value) if hasattr(value, "asnumpy") or hasattr(value, "__array__") else value


def _copy_if_shared(value: Any, arguments: tuple[Any, ...], buffer: DenseBuffer | None) -> Any:
    if type(value) is not np.ndarray:
        return value
    base: Any = value.base
    for argument in arguments:
        if value is argument or (
            base is not None and (base is argument or base is getattr(argument, "base", None))
        ):
            return value
    if type(base) is bytes or is_in_batch_buffer(value) or value.dtype.kind == "O":
        return value
    return value.copy() if buffer is None else buffer.put(value)

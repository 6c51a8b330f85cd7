"""Batch buffers: each row is copied into the array of its batch while it is still in the CPU cache.

A worker knows the batch of a row before it computes it. It writes the row into the array of that batch, so that
stacking the batch later needs no copy. If a row ends up elsewhere (rows before it failed, or another shape), the
batch is stacked as usual: the memory location never changes the values.

The memory of an unused batch is reused for a later one. New memory is not free: the system clears every page first,
which costs about as much as the copy.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["LEAST_BYTES", "ChunkBufferPool", "BatchAssembler", "is_in_batch_buffer", "contiguous_view"]

# Smaller rows are stacked as usual.
LEAST_BYTES = 1 << 14
# The maximum number of incomplete batches; beyond it the oldest is dropped, and stacked as usual.
MAX_OPEN_BATCHES = 16
# Unused batches whose memory is kept. One is enough for a consumer that releases a batch when it takes the next; this
# memory counts in no budget.
MOST_SPARE = 1
# The same for chunks, of which several are in flight; and the sizes to keep: smaller memory is cheap to allocate,
# larger memory would be held unused.
MOST_PASSING = 2
PASSING_BYTES = (1 << 16, 4 << 20)


class BatchBuffer:
    """The memory of one batch. Every array over it keeps it alive; after the last one it returns to the pool."""

    def __init__(self, block: npt.NDArray[np.uint8], spare: BufferPool | ChunkBufferPool) -> None:
        self.block, self._spare = block, weakref.ref(spare)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.block.__array_interface__

    def __del__(self) -> None:
        spare = self._spare()
        if spare is not None:
            spare.blocks.append(self.block)


class BufferPool:
    """Pool of unused batch memory."""

    def __init__(self) -> None:
        self.blocks: deque[npt.NDArray[np.uint8]] = deque(maxlen=MOST_SPARE)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An uninitialized array."""
        size = math.prod(shape) * dtype.itemsize
        try:
            block = self.blocks.popleft()
        except IndexError:
            block = None
        if block is None or block.nbytes != size:
            block = np.empty(size, np.uint8)
        whole = np.asarray(BatchBuffer(block, self))
        return whole.view(dtype).reshape(shape)


class ChunkBuffer(BatchBuffer):
    """The memory of the rows of a chunk, which need not belong to one batch."""


class ChunkBufferPool:
    """Memory for the rows of chunks, reused for a later chunk when no row of this one is referenced.

    >>> rows = ChunkBufferPool().array((1000, 100), np.dtype("f4"))
    >>> rows.shape, rows.dtype.name, is_in_batch_buffer(rows[0])
    ((1000, 100), 'float32', False)
    """

    def __init__(self) -> None:
        self.blocks: deque[npt.NDArray[np.uint8]] = deque(maxlen=MOST_PASSING)

    def __reduce__(self) -> tuple[type[ChunkBufferPool], tuple[()]]:
        return ChunkBufferPool, ()

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An uninitialized array."""
        size = math.prod(shape) * dtype.itemsize
        if not PASSING_BYTES[0] <= size <= PASSING_BYTES[1]:
            return np.empty(shape, dtype)
        try:
            block = self.blocks.popleft()
        except IndexError:
            block = None
        if block is not None and block.nbytes > 4 * size:
            self.blocks.append(block)  # the last chunk of an epoch is small, and those after it are not
            return np.empty(shape, dtype)
        if block is None or block.nbytes < size:
            # chunks differ in size
            block = np.empty(min(size + size // 2, PASSING_BYTES[1]), np.uint8)
        whole = np.asarray(ChunkBuffer(block, self))
        return whole[:size].view(dtype).reshape(shape)


class BatchAssembler:
    """Assembles batches of ``rows`` rows in place.

    >>> assembler = BatchAssembler(rows=2)
    >>> rows = [assembler.put("x", 0, i, np.full(5000, i)) for i in range(2)]
    >>> contiguous_view(rows).shape
    (2, 5000)
    """

    def __init__(self, rows: int, spare: BufferPool | None = None) -> None:
        self.rows = rows
        # by column, epoch and number of the batch: its array, and how many rows are missing
        self._open: dict[tuple[str, int, int], tuple[npt.NDArray[Any], int]] = {}
        self._spare = spare or BufferPool()
        self._lock = threading.Lock()

    def __getstate__(self) -> int:
        return self.rows

    def __setstate__(self, rows: int) -> None:
        self.__init__(rows)  # type: ignore[misc]

    def put(self, column: str, epoch: int, position: int, value: Any) -> Any:
        """Copy the row at this position of the epoch into its batch buffer, if it has one; return the row."""
        if type(value) is not np.ndarray:
            return value
        destination = self.reserve_row(column, epoch, position, value.shape, value.dtype)
        if destination is None:
            return value
        destination[...] = value
        return destination

    def reserve_row(
        self, column: str, epoch: int, position: int, shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> npt.NDArray[Any] | None:
        """The buffer for a row of this shape and dtype; None for small rows, and if the batch has other ones."""
        if math.prod(shape) * dtype.itemsize < LEAST_BYTES or dtype.kind not in "biufc":
            return None
        number, slot = divmod(position, self.rows)
        array = self._array((column, epoch, number), shape, dtype)
        if array.shape[1:] != shape or array.dtype != dtype:
            return None
        row: npt.NDArray[Any] = array[slot]
        return row

    def _array(
        self, key: tuple[str, int, int], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> npt.NDArray[Any]:
        with self._lock:
            entry = self._open.pop(key, None)
            if entry is None:
                entry = (self._spare.array((self.rows, *shape), dtype), self.rows)
                self._drop_unfilled(key)
            array, missing = entry
            if missing > 1:
                self._open[key] = (array, missing - 1)
            return array

    def _drop_unfilled(self, key: tuple[str, int, int]) -> None:
        """Drop batches that will not be filled: those of earlier epochs, and the oldest if there are too many."""
        same = [open_key for open_key in self._open if open_key[0] == key[0]]
        for open_key in same if key[2] else ():
            if open_key[1] < key[1]:
                del self._open[open_key]
        if len(same) >= MAX_OPEN_BATCHES:
            self._open.pop(same[0], None)


def is_in_batch_buffer(value: Any) -> bool:
    """Whether a row is in a buffer of ``BatchAssembler``."""
    # a view of a view has the base of the first one, so all rows of a batch have one base: the batch buffer
    return type(getattr(getattr(value, "base", None), "base", None)) is BatchBuffer


def _address(array: npt.NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def contiguous_view(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any] | None:
    """Rows in adjacent slots of a batch buffer as one array, without a copy; None for any others."""
    if not is_in_batch_buffer(rows[0]):
        return None
    base: Any = rows[0].base
    size, start = rows[0].nbytes, _address(rows[0])
    for i, row in enumerate(rows):
        if row.base is not base or _address(row) != start + i * size:
            return None
    first = start - _address(base)
    whole: npt.NDArray[np.uint8] = base[first : first + size * len(rows)]
    return whole.view(rows[0].dtype).reshape(len(rows), *rows[0].shape)

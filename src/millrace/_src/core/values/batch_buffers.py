"""Rows of a batch that lie side by side from the start: each is copied into its place while it is still in the cache.

A worker that has made a row knows which batch it will be part of. It writes it into that batch's array, and stacking
the batch later is no work at all. When a row ends up elsewhere after all (rows before it failed, another shape), the
batch is stacked as always: where rows lie never changes what they hold.

The memory of a batch that nobody holds any longer becomes that of a later one. Fresh memory is not free: the system
clears every page before it hands it out, which costs about as much as the copy.
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

# Smaller rows are not worth the book-keeping.
LEAST_BYTES = 1 << 14
# Batches of which rows are still missing; the oldest is given up when there are more, and stacked as always.
MAX_OPEN_BATCHES = 16
# Batches nobody holds whose memory is kept for the next ones. One is enough for a consumer that lets go of a batch when
# it takes the next, and what is kept here no budget knows of.
MOST_SPARE = 1
# The same for chunks, of which several are under way; and the sizes for which it is done: less is had at once, more
# would be held for nothing.
MOST_PASSING = 2
PASSING_BYTES = (1 << 16, 4 << 20)


class BatchBuffer:
    """The memory of one batch. Every array over it keeps it alive; with the last of them it becomes spare."""

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
    """Memory of batches that nobody holds any longer."""

    def __init__(self) -> None:
        self.blocks: deque[npt.NDArray[np.uint8]] = deque(maxlen=MOST_SPARE)

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array with anything in it."""
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
    """The same for rows of a chunk, which need not be those of one batch."""


class ChunkBufferPool:
    """Memory for the rows of chunks, used again for a later chunk when nobody holds a row of this one any longer.

    >>> rows = ChunkBufferPool().array((1000, 100), np.dtype("f4"))
    >>> rows.shape, rows.dtype.name, is_in_batch_buffer(rows[0])
    ((1000, 100), 'float32', False)
    """

    def __init__(self) -> None:
        self.blocks: deque[npt.NDArray[np.uint8]] = deque(maxlen=MOST_PASSING)

    def __reduce__(self) -> tuple[type[ChunkBufferPool], tuple[()]]:
        return ChunkBufferPool, ()

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array with anything in it."""
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
            # chunks are not all of one size
            block = np.empty(min(size + size // 2, PASSING_BYTES[1]), np.uint8)
        whole = np.asarray(ChunkBuffer(block, self))
        return whole[:size].view(dtype).reshape(shape)


class BatchAssembler:
    """The batches under way, ``rows`` rows each.

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
        """The row at this position of the epoch, moved to its place if it has one."""
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
        """Where a row of this shape and type goes; None for small ones, and for one that differs from its batch."""
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
        """Let go of batches that will not be filled: the last one of an epoch, and any when there are too many."""
        same = [open_key for open_key in self._open if open_key[0] == key[0]]
        for open_key in same if key[2] else ():
            if open_key[1] < key[1]:
                del self._open[open_key]
        if len(same) >= MAX_OPEN_BATCHES:
            self._open.pop(same[0], None)


def is_in_batch_buffer(value: Any) -> bool:
    """Whether ``Slots`` put this row where it is."""
    # a view of a view has the base of the first one, so all rows of a batch have one base, and that lies on our memory
    return type(getattr(getattr(value, "base", None), "base", None)) is BatchBuffer


def _address(array: npt.NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def contiguous_view(rows: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any] | None:
    """One array of rows that ``Slots`` put into neighbouring places; None for any others."""
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

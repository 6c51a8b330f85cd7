"""Host memory allocators for batches: for example pinned memory, from which a device can copy directly.

An allocator returns arrays. While an array, a view of it or a tensor over it exists, its memory is not reused; when the
last one is deleted, the memory returns to the allocator. Code that copies in the background must therefore hold a
reference to the array until the copy has ended.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.values.batch_buffers import BatchBuffer, BufferPool

__all__ = ["ALIGN", "AlignedAllocator", "HostAllocator"]

# Alignment of arrays: a cache line, which other libraries require to use memory without a copy.
ALIGN = 64
# The maximum total size of unused blocks that are kept, unless a single block is larger.
MAX_SPARE_BYTES = 512 << 20


class HostAllocator(BufferPool):
    """Allocator of memory aligned to cache lines; a subclass allocates another type of memory.

    >>> allocator = HostAllocator()
    >>> batch = allocator.array((2, 3), np.dtype("f4"))
    >>> batch.shape, batch.ctypes.data % ALIGN, allocator.blocks_in_use
    ((2, 3), 0, 1)
    >>> del batch
    >>> allocator.blocks_in_use, allocator.spare_blocks
    (0, 1)
    """

    # the maximum number of unused blocks; plain memory is cheap to allocate, and unused blocks count in no budget
    max_spare = 4

    def __init__(self) -> None:
        super().__init__()
        # returned blocks; they come from any thread at any time, so appending must not take a lock
        self.blocks: deque[npt.NDArray[np.uint8]] = deque()
        self._by_size: dict[int, list[npt.NDArray[np.uint8]]] = {}
        self._num_blocks = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def __reduce__(self) -> tuple[type[HostAllocator], tuple[()]]:
        return HostAllocator, ()  # other processes use plain memory

    # for subclasses ------------------------------------------------------------------------------

    def make(self, size: int) -> npt.NDArray[np.uint8]:
        """Allocate an aligned block of at least this size."""
        return allocate_aligned(size)

    def accepts(self, array: npt.NDArray[Any]) -> bool:
        """Whether an array can be used without a copy into memory of this allocator."""
        return True

    def pin_external(self, shared: npt.NDArray[np.uint8]) -> None:
        """Prepare memory that a worker process shares, and in which batches arrive repeatedly."""

    # for the engine ------------------------------------------------------------------------------

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An uninitialized array with exclusive memory."""
        size = math.prod(shape) * dtype.itemsize
        block = self._block(max(1, size))
        whole = np.asarray(BatchBuffer(block, self))
        return whole[:size].view(dtype).reshape(shape)

    def copy_if_needed(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The array itself if this allocator accepts it, or a copy in memory of this allocator."""
        if (
            array.dtype.kind not in "biufc"
            or not array.nbytes
            or self._in_forked_child()
            or self.accepts(array)
        ):
            return array
        copy = self.array(array.shape, array.dtype)
        copy[...] = array
        return copy

    @property
    def blocks_in_use(self) -> int:
        """Number of blocks in use."""
        with self._lock:
            self._collect_returned()
            return self._num_blocks - self._num_spare()

    @property
    def spare_blocks(self) -> int:
        """Number of unused blocks."""
        with self._lock:
            self._collect_returned()
            return self._num_spare()

    def _block(self, size: int) -> npt.NDArray[np.uint8]:
        if self._in_forked_child():
            return allocate_aligned(size)
        with self._lock:
            self._collect_returned()
            free = self._by_size.get(size)
            if free:
                return free.pop()
            self._num_blocks += 1
        try:
            return self.make(size)
        except BaseException:
            with self._lock:
                self._num_blocks -= 1
            raise

    def _in_forked_child(self) -> bool:
        """Whether this is a forked child: the blocks belong to the parent, and its driver may not work here."""
        return os.getpid() != self._pid

    def _collect_returned(self) -> None:
        """Collect returned blocks; beyond the limits, free blocks of the oldest sizes first."""
        while self.blocks:
            block = self.blocks.popleft()
            self._by_size.setdefault(block.nbytes, []).append(block)
        sizes = [size for size, free in self._by_size.items() for _ in free]
        while len(sizes) > self.max_spare or (len(sizes) > 1 and sum(sizes) > MAX_SPARE_BYTES):
            self._by_size[sizes[0]].pop()
            if not self._by_size[sizes[0]]:
                del self._by_size[sizes[0]]
            self._num_blocks -= 1
            del sizes[0]

    def _num_spare(self) -> int:
        return sum(map(len, self._by_size.values()))


class AlignedAllocator(HostAllocator):
    """Aligns every batch, for libraries that would copy an unaligned one."""

    def accepts(self, array: npt.NDArray[Any]) -> bool:
        address: int = array.__array_interface__["data"][0]
        return address % ALIGN == 0


def allocate_aligned(size: int) -> npt.NDArray[np.uint8]:
    """Allocate aligned memory.

    >>> allocate_aligned(1000).nbytes, allocate_aligned(1000).ctypes.data % ALIGN
    (1000, 0)
    """
    memory = np.empty(size + ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN
    return memory[start : start + size]

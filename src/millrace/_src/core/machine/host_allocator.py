"""Memory for batches that somebody else provides: a device's sink wants them where the device can fetch them itself.

A lender hands out arrays. While anybody holds one, a view of it or a tensor over it, its memory is that array's alone;
with the last of them it comes back to the lender, which may hand it out again. So the rule for whoever copies in the
background is simply to hold the array until the copy has ended.
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

# Where arrays begin: a cache line, which is what other libraries want in order to use memory without a copy.
ALIGN = 64
# Bytes that are kept for later at the most, unless one block has more.
MAX_SPARE_BYTES = 512 << 20


class HostAllocator(BufferPool):
    """Plain memory on the borders of cache lines; a subclass makes its own kind.

    >>> allocator = HostAllocator()
    >>> batch = allocator.array((2, 3), np.dtype("f4"))
    >>> batch.shape, batch.ctypes.data % ALIGN, allocator.blocks_in_use
    ((2, 3), 0, 1)
    >>> del batch
    >>> allocator.blocks_in_use, allocator.spare_blocks
    (0, 1)
    """

    # blocks that are kept for later; plain memory is had again soon, and what is kept here no budget knows of
    max_spare = 4

    def __init__(self) -> None:
        super().__init__()
        # what comes back, from any thread and in the middle of anything: appending takes no lock of ours
        self.blocks: deque[npt.NDArray[np.uint8]] = deque()
        self._by_size: dict[int, list[npt.NDArray[np.uint8]]] = {}
        self._num_blocks = 0
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def __reduce__(self) -> tuple[type[HostAllocator], tuple[()]]:
        return HostAllocator, ()  # another process has its own memory, and a plain one will do

    # what a subclass says of its memory ----------------------------------------------------------

    def make(self, size: int) -> npt.NDArray[np.uint8]:
        """Fresh memory of at least this size, beginning on a border."""
        return allocate_aligned(size)

    def accepts(self, array: npt.NDArray[Any]) -> bool:
        """Whether an array lies well where it is, so that it need not be copied into memory of the allocator."""
        return True

    def pin_external(self, shared: npt.NDArray[np.uint8]) -> None:
        """Memory that is shared with a worker process, and that batches will come in, again and again."""

    # what the engine asks for --------------------------------------------------------------------

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An array with anything in it, whose memory nobody else holds."""
        size = math.prod(shape) * dtype.itemsize
        block = self._block(max(1, size))
        whole = np.asarray(BatchBuffer(block, self))
        return whole[:size].view(dtype).reshape(shape)

    def copy_if_needed(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The same values where they lie well: the array itself, or a copy in memory of the allocator."""
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
        """Blocks that somebody holds."""
        with self._lock:
            self._collect_returned()
            return self._num_blocks - self._num_spare()

    @property
    def spare_blocks(self) -> int:
        """Blocks that nobody holds."""
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
        """In a child of fork: the blocks are the parent's, and what made them may not work here."""
        return os.getpid() != self._pid

    def _collect_returned(self) -> None:
        """Sort in what came back; sizes that are not asked for any more go first when there is too much."""
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
    """Every batch begins on a border, for libraries that copy any other."""

    def accepts(self, array: npt.NDArray[Any]) -> bool:
        address: int = array.__array_interface__["data"][0]
        return address % ALIGN == 0


def allocate_aligned(size: int) -> npt.NDArray[np.uint8]:
    """Fresh memory that begins on a border.

    >>> allocate_aligned(1000).nbytes, allocate_aligned(1000).ctypes.data % ALIGN
    (1000, 0)
    """
    memory = np.empty(size + ALIGN, np.uint8)
    start = -memory.ctypes.data % ALIGN
    return memory[start : start + size]

"""Pool of reusable shared memory blocks on the sender and leases on them at the receiver.

A new block costs a page fault per 4 KiB on both sides, so blocks are reused. The sender owns them; the receiver's
arrays are views. When the last view is released, the block's number is sent back and the sender may write to it again.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable

import numpy as np

from millrace._src.core.machine import shared_memory as memory
from millrace._src.core.machine.shared_memory import ByteArray

__all__ = ["BlockLeases", "BlockPool", "SharedBlock"]

# Free blocks kept for reuse. Two chunks in flight and one being written use three.
MAX_FREE_BLOCKS = 4
_GRAIN = 1 << 16


class SharedBlock:
    """One block on the sender's side; ``fd`` is open until the receiver has it."""

    __slots__ = ("bytes", "fd", "number", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.fd = memory.create(size)
        try:
            self.bytes: ByteArray = memory.map_fd(self.fd, size)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class BlockPool:
    """The blocks of one sender. Not thread-safe: one thread sends."""

    def __init__(self) -> None:
        self.num_created = 0
        self.forgotten: deque[int] = deque()
        self._all: dict[int, SharedBlock] = {}
        self._free: list[SharedBlock] = []

    def take(self, size: int) -> SharedBlock:
        """The smallest free block that fits without much waste, otherwise a new one."""
        fitting = [free for free in self._free if size <= free.size <= max(8 * size, _GRAIN)]
        if fitting:
            best = min(fitting, key=lambda free: free.size)
            self._free.remove(best)
            return best
        if len(self._free) >= MAX_FREE_BLOCKS:  # none fits: sizes have changed, so drop the oldest
            self._forget(self._free.pop(0))
        block = SharedBlock(self.num_created, _round_size(size))
        self.num_created += 1
        self._all[block.number] = block
        return block

    def give_back(self, number: int) -> None:
        """The receiver has released this block. The number of a block that is not in use is ignored."""
        block = self._all.get(number)
        if block is None or any(free is block for free in self._free):
            return
        self._free.append(block)
        if len(self._free) > MAX_FREE_BLOCKS:
            self._forget(self._free.pop(0))

    def _forget(self, block: SharedBlock) -> None:
        del self._all[block.number]
        block.close()
        self.forgotten.append(block.number)

    def close(self) -> None:
        for block in self._all.values():
            block.close()
        self._all.clear()
        self._free.clear()

    def __len__(self) -> int:
        return len(self._all)


def _round_size(need: int) -> int:
    """Round the size up: chunks of similar size share blocks, and untouched pages cost nothing."""
    step = max(_GRAIN, 1 << max(need.bit_length() - 3, 0))
    return -(-need // step) * step


class _Lease:
    """The lease of one message on a block; when the last array is released, the block's number is queued for return."""

    __slots__ = ("__array_interface__", "_bytes", "_number", "_returns")

    def __init__(self, whole: ByteArray, number: int, length: int, returns: deque[int]) -> None:
        self._bytes, self._number, self._returns = whole, number, returns
        self.__array_interface__ = dict(whole.__array_interface__, shape=(length,))

    def __del__(self) -> None:
        # May run in any thread at any point: appending to a deque acquires no lock.
        self._returns.append(self._number)


class BlockLeases:
    """The peer's blocks, mapped in this process."""

    def __init__(self) -> None:
        self.returns: deque[int] = deque()
        self._mapped: dict[int, ByteArray] = {}
        # called with each newly mapped block, which is reused for later messages
        self.adopt: Callable[[ByteArray], None] | None = None

    def learn(self, number: int, fd: int, size: int) -> None:
        self._mapped[number] = memory.map_fd(fd, size)
        if self.adopt is not None:
            self.adopt(self._mapped[number])

    def forget(self, number: int) -> None:
        self._mapped.pop(number, None)

    def lease(self, number: int, length: int) -> ByteArray:
        """The first ``length`` bytes of a block, leased until no array refers to them."""
        whole = self._mapped[number]
        if length > whole.size:
            raise ValueError(f"a message of {length} bytes does not fit into a block of {whole.size}")
        return np.asarray(_Lease(whole, number, length, self.returns))

    def close(self) -> None:
        self._mapped.clear()

    def __len__(self) -> int:
        return len(self._mapped)

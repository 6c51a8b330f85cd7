"""Results where Ray's object store has them: arrays of ours on its memory, and writable.

A result is made for this process alone and fetched once, so its memory is ours until the last array on it is gone; Ray
hands it out as read-only because other objects have several readers. Where the store is half full of results that the
user keeps, further ones are copied out: the store must stay able to take what workers send.
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.data.engine.transport.scatter_gather import LARGE

__all__ = ["ResultStore"]


# Results that are kept a little longer. Without them the store is empty again and again, gives its pages back to the
# system, and a worker waits for fresh ones with every result: that took a third of the time of a hand-over.
MAX_RECENT = 3


class ResultStore:
    """``most`` bytes of results may lie in the store while somebody looks at them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken = 0
        self._lock = threading.Lock()
        self._returns: deque[int] = deque()
        self._recent: deque[ByteArray] = deque()
        # parts of this process's memory that are the store, mapped for reading and writing
        self._mapped: list[tuple[int, int]] = []

    @property
    def held(self) -> int:
        """Bytes of the store that arrays look at."""
        with self._lock:
            return self._count()

    def _count(self) -> int:
        while self._returns:
            self._taken -= self._returns.popleft()
        return self._taken

    def writable_view(self, run: ByteArray) -> ByteArray:
        """The bytes as ours, to be written to: in the store if they are there and may stay, else a copy."""
        if run.flags.writeable:
            return run
        if run.size >= LARGE:
            with self._lock:
                if self._count() + run.size <= self.most and self._is_in_store(run):
                    self._taken += run.size
                    leased = np.asarray(_StoreLease(run, self._returns))
                    self._recent.append(leased)
                    while (
                        len(self._recent) > MAX_RECENT
                        or sum(kept.size for kept in self._recent) > self.most // 4
                    ):
                        self._recent.popleft()
                    return leased
        return run.copy()

    def _is_in_store(self, run: ByteArray) -> bool:
        start = run.__array_interface__["data"][0]
        end = start + run.size
        if not any(first <= start and end <= last for first, last in self._mapped):
            self._mapped = _store_maps()
        return any(first <= start and end <= last for first, last in self._mapped)


def _store_maps() -> list[tuple[int, int]]:
    """Shared, writable memory of this process that is a file of the object store in /dev/shm."""
    ranges = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            addresses, permissions, *_, name = line.split(None, 5) if line.count("/") else ("", "", "")
            if permissions == "rw-s" and name.startswith("/dev/shm/plasma"):
                first, last = addresses.split("-")
                ranges.append((int(first, 16), int(last, 16)))
    return ranges


class _StoreLease:
    """A hold on one run of bytes; gone with the last array on it."""

    __slots__ = ("__array_interface__", "_returns", "_run")

    def __init__(self, run: ByteArray, returns: deque[int]) -> None:
        self._run, self._returns = run, returns
        address = run.__array_interface__["data"][0]
        self.__array_interface__ = dict(run.__array_interface__, data=(address, False))

    def __del__(self) -> None:
        # may run in any thread, in the middle of anything: a deque's append takes no lock of ours
        self._returns.append(self._run.size)

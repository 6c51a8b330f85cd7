"""Zero-copy, writable arrays on results in Ray's object store.

A result is created for this process alone and fetched once, so this process owns its memory until the last array on it
is released; Ray returns it read-only because other objects have several readers. When half of the store holds results
that the user keeps, further ones are copied out: the store must have space for what workers send.
"""

from __future__ import annotations

import threading
from collections import deque

import numpy as np

from millrace._src.core.machine.shared_memory import ByteArray
from millrace._src.data.engine.transport.scatter_gather import LARGE

__all__ = ["ResultStore"]


# Results kept a little longer. Without them the store is repeatedly empty, returns its pages to the system, and a
# worker waits for fresh pages with every result: that took a third of the time of a hand-over.
MAX_RECENT = 3


class ResultStore:
    """At most ``most`` bytes of results stay in the store while arrays refer to them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken = 0
        self._lock = threading.Lock()
        self._returns: deque[int] = deque()
        self._recent: deque[ByteArray] = deque()
        # address ranges of this process that map the store for reading and writing
        self._mapped: list[tuple[int, int]] = []

    @property
    def held(self) -> int:
        """Bytes of the store that arrays refer to."""
        with self._lock:
            return self._count()

    def _count(self) -> int:
        while self._returns:
            self._taken -= self._returns.popleft()
        return self._taken

    def writable_view(self, run: ByteArray) -> ByteArray:
        """A writable view of the bytes: in the store if possible, otherwise a copy."""
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
    """Address ranges of shared, writable mappings of the object store in /dev/shm."""
    ranges = []
    with open("/proc/self/maps") as lines:
        for line in lines:
            addresses, permissions, *_, name = line.split(None, 5) if line.count("/") else ("", "", "")
            if permissions == "rw-s" and name.startswith("/dev/shm/plasma"):
                first, last = addresses.split("-")
                ranges.append((int(first, 16), int(last, 16)))
    return ranges


class _StoreLease:
    """A lease on one buffer; released with the last array on it."""

    __slots__ = ("__array_interface__", "_returns", "_run")

    def __init__(self, run: ByteArray, returns: deque[int]) -> None:
        self._run, self._returns = run, returns
        address = run.__array_interface__["data"][0]
        self.__array_interface__ = dict(run.__array_interface__, data=(address, False))

    def __del__(self) -> None:
        # may run in any thread at any point: appending to a deque acquires no lock
        self._returns.append(self._run.size)

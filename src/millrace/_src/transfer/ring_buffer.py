"""Ring buffer of batches between two threads, bounded in slots and bytes; either side can close it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, NamedTuple

from .clock import Clock

__all__ = ["RingClosedError", "RingItem", "RingBuffer"]


class RingClosedError(Exception):
    """The ring buffer is closed: no item can be put or taken."""


class RingItem(NamedTuple):
    """Item of the ring: a batch, the end of an epoch, or an error."""

    value: Any
    size: int = 0


class RingBuffer:
    """First in, first out. One item always fits, however large it is.

    >>> ring = RingBuffer(slots=2, most_bytes=100)
    >>> waited = ring.put(RingItem("a", 70))
    >>> ring.take(), len(ring)
    (RingItem(value='a', size=70), 0)
    """

    def __init__(self, slots: int, most_bytes: int, clock: Clock | None = None) -> None:
        self.slots, self.most_bytes, self.clock = slots, most_bytes, clock or Clock()
        self._items: deque[tuple[RingItem, float]] = deque()
        self._bytes = 0
        self._closed = self._finished = False
        # times at which slots became free, oldest first: an item waits for its slot
        self._freed: deque[float] = deque([float("-inf")] * slots, maxlen=slots)
        lock = threading.Lock()
        self._not_full, self._not_empty = threading.Condition(lock), threading.Condition(lock)

    def __len__(self) -> int:
        return len(self._items)

    def resize(self, slots: int) -> None:
        """Change the number of slots; items stay."""
        with self._not_full:
            self.slots = slots
            self._not_full.notify_all()

    @property
    def nbytes(self) -> int:
        """Bytes of the items."""
        return self._bytes

    def put(self, item: RingItem) -> float:
        """Wait for a free slot and put the item; returns the seconds waited."""
        clock = self.clock
        with self._not_full:
            began = clock.now()
            while not self._closed and not self._fits(item.size):
                self._not_full.wait()
            if self._closed:
                raise RingClosedError
            clock.synchronize(self._freed[len(self._items)])
            put = clock.now()
            self._items.append((item, put))
            self._bytes += item.size
            self._not_empty.notify()
            return put - began

    def take(self, timeout: float | None = None) -> RingItem | None:
        """Take the oldest item; None after the timeout. Raises RingClosedError if no more items will come."""
        with self._not_empty:
            if not self._items and not self._over and timeout != 0:
                self._not_empty.wait_for(lambda: self._items or self._over, timeout)
            if not self._items:
                if self._over:
                    raise RingClosedError
                return None
            item, put = self._items.popleft()
            self.clock.synchronize(put)
            self._freed.append(self.clock.now())
            self._bytes -= item.size
            self._not_full.notify()
            return item

    def finish(self) -> None:
        """Mark the end of items: remaining items can be taken, then RingClosedError is raised."""
        with self._not_empty:
            self._finished = True
            self._not_empty.notify_all()

    def close(self) -> None:
        """Drop all items; waiting threads get RingClosedError."""
        with self._not_full:
            self._closed = True
            self._items.clear()
            self._bytes = 0
            self._not_full.notify_all()
            self._not_empty.notify_all()

    @property
    def _over(self) -> bool:
        return self._closed or self._finished

    def _fits(self, size: int) -> bool:
        if not self._items:
            return True
        return len(self._items) < self.slots and self._bytes + size <= self.most_bytes

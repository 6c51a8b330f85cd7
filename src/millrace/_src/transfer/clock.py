"""Clocks of the prefetcher: real time, and simulated time for tests.

Pipeline, transfer and steps synchronize at ring buffers: an item is not taken before it is put, and a slot is not
reused before it is free. A simulated clock counts seconds per thread, and `synchronize` advances it at these points, so
that tests compute the timing of a run exactly.
"""

from __future__ import annotations

import threading
import time

from millrace._src.core.stable_ids import stable_id

__all__ = ["Clock", "SimulatedClock"]


class Clock:
    """The real clock."""

    def now(self) -> float:
        """Seconds since an arbitrary point in time."""
        return time.perf_counter()

    def synchronize(self, when: float) -> None:
        """Advance this thread's time to at least `when`, the time of an event that it depends on."""


@stable_id("clock.Planted")
class SimulatedClock(Clock):
    """Simulated time: each thread has its own, and threads synchronize at ring buffers.

    >>> clock = SimulatedClock()
    >>> clock.spend(1.5)
    >>> clock.now()
    1.5
    """

    def __init__(self) -> None:
        self._local = threading.local()

    def now(self) -> float:
        return float(getattr(self._local, "at", 0.0))

    def synchronize(self, when: float) -> None:
        self._local.at = max(self.now(), when)

    def spend(self, seconds: float) -> None:
        """Advance this thread's time."""
        self._local.at = self.now() + seconds

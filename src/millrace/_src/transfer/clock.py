"""The time that a feed measures by.

A feed is three parties (the pipeline, the transfer, the steps) that meet at rings. Whoever takes an item cannot be
earlier than the one who put it, and whoever needs room not earlier than the one who made it. On a real clock this holds
by itself. A clock of each thread's own, which only counts what the thread is said to spend, is told at each meeting; so
a whole run can be worked out to the last digit, whatever the machine does meanwhile.
"""

from __future__ import annotations

import threading
import time

from millrace._src.core.stable_ids import stable_id

__all__ = ["Clock", "SimulatedClock"]


class Clock:
    """The real one."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.perf_counter()

    def synchronize(self, when: float) -> None:
        """This thread knows of something that happened then: it is not earlier."""


@stable_id("clock.Planted")
class SimulatedClock(Clock):
    """Time that passes where it is said to: each thread has its own, and they agree where threads meet.

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
        """Let this thread's time pass."""
        self._local.at = self.now() + seconds

"""How many threads of a segment should work at once: all of them, unless they only get into each other's way.

Threads that run plain Python cannot run at the same time; they take turns at the GIL and lose a third of the
throughput to it. Threads that only copy memory share one bus. Whether that is so cannot be known beforehand, but
it can be measured: when the workers together use about one core, or when chunks are over in no time, one worker
alone is tried for a few chunks, and kept if it does clearly better. A busy machine can deceive, so one worker alone is
put to the test again later, at longer and longer intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Concurrency"]

WARM_UP = 8
# One phase of the trial lasts at least this many chunks and seconds.
CHUNKS = 8
SECONDS = 0.03
# One worker must be clearly better: a busy machine makes both look alike, and all workers are the safe choice.
BETTER = 1.1
# Processor seconds below which a chunk is little more than a copy.
QUICK = 0.001
# Seconds until one worker is put to the test again; doubled each time.
AGAIN = 5.0


class Concurrency:
    """Fed with every finished chunk; calls ``use(n)`` when the number of working threads should change."""

    def __init__(self, workers: int, use: Callable[[int], None]) -> None:
        self.workers, self.use = workers, use
        self.decided = workers < 2
        self._chunks = 0
        self._rows = 0
        self._cpu = self._busy = 0.0
        self._began: float | None = None
        self._phase = "all"
        self._rate_of_all = 0.0
        self._again, self._interval = float("inf"), AGAIN

    def finished(self, rows: int, busy: float, cpu: float, waited: bool) -> None:
        """A chunk is done; ``waited`` says that the consumer had to wait for it, so that the rate counts."""
        if self.decided and self._again == float("inf"):
            return
        now = time.perf_counter()
        if self.decided:
            if now >= self._again:
                self._retry(now)
            return
        if self._began is None or not waited:
            self._restart(now)
            return
        self._chunks += 1
        self._rows += rows
        self._cpu += cpu
        self._busy += busy
        elapsed = now - self._began
        if self._chunks < (WARM_UP if self._phase == "settle" else CHUNKS) or elapsed < SECONDS:
            return
        self._step(now, elapsed)

    def _step(self, now: float, elapsed: float) -> None:
        if self._phase == "all":
            cores = self._cpu / elapsed
            turns = 0.6 < cores < 1.25
            waits = cores < 0.6 and self._busy > 3 * self._cpu
            if waits or (not turns and self._cpu / self._chunks > QUICK):
                self.decided = True  # real work on several cores, or waiting for a disk: more threads do help
                return
            self._rate_of_all = self._rows / elapsed
            self._phase = "settle"
            self.use(1)
        elif self._phase == "settle":
            self._phase = "one"  # chunks that the others had under way are out now
        else:
            self.decided = True
            if self._rows / elapsed < BETTER * self._rate_of_all:
                self.use(self.workers)
            else:
                self._again, self._interval = now + self._interval, self._interval * 2
        self._restart(now)

    def _retry(self, now: float) -> None:
        self.decided, self._again, self._phase = False, float("inf"), "all"
        self.use(self.workers)
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._began, self._chunks, self._rows = now, 0, 0
        self._cpu = self._busy = 0.0

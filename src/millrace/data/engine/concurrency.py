"""How many threads of a segment should work at once: as many as get more done than one does.

Threads that run plain Python cannot run at the same time. They take turns at the GIL, every call into a library gives
it up and has to win it back, and two may get half as much done as one alone. Threads that only copy memory share one
bus. Whether that is so cannot be known beforehand, but it can be measured. So one worker begins; when the consumer has
had to wait for a number of its chunks, all work for as long, and stay if they do better, twice in a row. Work that
waits, for a disk or a network, is given all workers at once. A busy machine can deceive, so who won is put to the test
again later, at longer and longer intervals.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Concurrency"]

WARM_UP = 8
# One phase of the trial lasts at least this many chunks and seconds.
CHUNKS = 8
SECONDS = 0.03
# All workers must do better than one, for they cost more, and so many times; if they do so much better, that is that.
BETTER = 1.03
TIMES = 2
FAR_BETTER = 1.4
# A chunk whose processor time is less than this part of its time waits for something.
WAITS = 3
# Seconds until the next test; doubled each time.
AGAIN = 5.0
# Chunks that a consumer waited for while it never waited for enough of them in a row.
MOST_WAITS = 64


class Concurrency:
    """Fed with every finished chunk; calls ``use(n)`` when the number of working threads should change."""

    def __init__(self, workers: int, use: Callable[[int], None]) -> None:
        self.workers, self.use = workers, use
        self.decided = workers < 2
        # the others rest
        self.one = False
        self._chunks = 0
        self._rows = 0
        self._waited = 0
        self._began: float | None = None
        self._phase = "begin"
        self._rate_of_one = 0.0
        self._won = 0
        self._again, self._interval = float("inf"), AGAIN
        if not self.decided:
            self._work(1)

    def finished(self, rows: int, busy: float, cpu: float, waited: bool) -> None:
        """A chunk is done; ``waited`` says that the consumer had to wait for it, so that the rate counts."""
        if self.decided and self._again == float("inf"):
            return
        now = time.perf_counter()
        if self.one and waited and busy > WAITS * cpu:
            self.all()
            return
        if self.decided:
            if now >= self._again:
                self._retry(now)
            return
        self._waited += waited
        if self._began is None or not waited:
            if self.one and self._waited > MOST_WAITS:
                self.all()
            self._restart(now)
            return
        self._chunks += 1
        self._rows += rows
        elapsed = now - self._began
        measures = self._phase in ("one", "all")
        if self._chunks < (CHUNKS if measures else WARM_UP) or elapsed < SECONDS:
            return
        self._step(now, elapsed)

    def all(self) -> None:
        """One worker alone is too slow, whatever it does: all of them, for good."""
        if self.one:
            self._work(self.workers)
        self.decided, self._again = True, float("inf")

    def _step(self, now: float, elapsed: float) -> None:
        if self._phase == "begin":
            self._phase = "one"  # chunks have grown, and those that others had under way are out
        elif self._phase == "one":
            self._rate_of_one = self._rows / elapsed
            self._phase = "settle"
            self._work(self.workers)
        elif self._phase == "settle":
            self._phase = "all"
        else:
            self._judge(now, self._rows / elapsed / self._rate_of_one)
        self._restart(now)

    def _judge(self, now: float, gain: float) -> None:
        """All workers did so many times as much as one."""
        self._won = self._won + 1 if gain >= BETTER else 0
        if gain >= FAR_BETTER:
            self.all()
            return
        if self._won != TIMES:
            self._work(1)
        if 0 < self._won < TIMES:
            self._phase = "begin"
            return
        self.decided, self._won = True, 0
        self._again, self._interval = now + self._interval, self._interval * 2

    def _retry(self, now: float) -> None:
        self.decided, self._again, self._phase = False, float("inf"), "begin"
        if not self.one:
            self._work(1)
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._began, self._chunks, self._rows = now, 0, 0

    def _work(self, workers: int) -> None:
        self.one = workers == 1
        self.use(workers)

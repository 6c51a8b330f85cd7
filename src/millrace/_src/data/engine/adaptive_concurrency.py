"""How many threads of a segment should work at once: as many as get more done than one does.

Threads that run plain Python cannot run at the same time. They take turns at the GIL, every call into a library gives
it up and has to win it back, and two may get half as much done as one alone. Threads that only copy memory share one
bus. Whether that is so cannot be known beforehand, but it can be measured. So one worker begins; when the consumer has
had to wait for a number of its chunks, all work for as long, and stay if they do better, twice in a row. Where one
worker waits, for a disk or for another worker, all are called at once. A consumer that is about as fast as one worker
waits now and then only; then the rate of both together is compared, over a longer time. A busy machine can deceive, so
whatever was decided is put to the test again later, at longer and longer intervals.

A measurement takes time at half the speed where all would have helped. Of a user's function it can often be seen sooner
whether it holds the GIL: who waits for its chunk looks up a few times, and if the interpreter is free each time, other
workers may be able to use it. They are let in, and stay if their chunks hardly take longer than the processor works on
them: who waits for the interpreter does not work.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["AdaptiveConcurrency"]

# Chunks before the first measurement: they grow.
WARM_UP = 8
# Before another, those that were under way come out; it lasts at least so many chunks, and seconds.
CHUNKS = 4
SECONDS = 0.03
# All workers must do better than one, for they cost more, and so many times; or so much better.
BETTER = 1.03
TIMES = 2
FAR_BETTER = 1.4
# All workers that do only this part of what one did have lost before the time is over.
FAR_WORSE = 0.75
# Chunks whose processor time is less than this part of their time wait for something.
WAITS = 3
# All workers were called for so often that they stay.
CALLS = 2
# Times that who waits looks up, how many of them must find the interpreter free, and how late one may be to count so.
LOOKS = 6
FREE = 5
ON_TIME = 0.0005
# The time of a chunk may be so many times that of the processor; with two workers that take turns it is twice as long.
# Who waits so much more goes at once.
HARDLY = 1.2
MUCH = 1.5
# Chunks that a consumer waited for while it never waited for enough of them in a row: it is about as fast as one
# worker, and a measurement takes so many times as long.
MOST_WAITS = 64
LONGER = 4
# Seconds until the next test; doubled each time.
AGAIN = 5.0


class AdaptiveConcurrency:
    """Fed with every finished chunk; calls ``use(n)`` when the number of working threads should change."""

    def __init__(
        self, workers: int, use: Callable[[int], None], bound: bool = False, looks: bool = False
    ) -> None:
        """``bound``: it is known that one thread at a time can work; ``looks``: it may be seen that all can."""
        self.workers, self.use = workers, use
        self.decided = workers < 2 or bound
        # the others rest
        self.is_single_worker = False
        # times that somebody looked up, and found the interpreter free
        self._looks, self._free = (0, 0) if looks else (LOOKS, 0)
        # all were let in because of that
        self._let_in = False
        # chunks that may still come from workers that were sent to rest: how long they took says nothing of the one
        self._late = 0
        # rows per second, with one worker and with all
        self._rates: dict[bool, float] = {}
        self._measures = False
        self._settling = WARM_UP
        self._won = self._calls = self._waited = 0
        # the consumer waits now and then: the chunks between count as well
        self._level = False
        self._again, self._interval = float("inf"), AGAIN
        self._began: float | None = None
        self._chunks = self._rows = 0
        self._busy = self._cpu = 0.0
        if workers > 1:
            self._work(1)

    def record_chunk(self, rows: int, busy: float, cpu: float, waited: bool) -> None:
        """A chunk is done; ``waited`` says that the consumer had to wait for it, so that the rate counts."""
        if self.workers < 2:
            return
        now = time.perf_counter()
        if self.decided:
            if now >= self._again:
                self._retry(now)
            return
        if self._late:
            self._late -= 1
            self._restart(now)
            return
        if self._let_in:
            self._compare(now, busy, cpu)
            return
        self._waited += waited
        if self._began is None or not (waited or self._level):
            self._restart(now)
            self._level = self._waited > MOST_WAITS
            return
        self._chunks += 1
        self._rows += rows
        self._busy += busy
        self._cpu += cpu
        # small chunks: a moment that another program took is no waiting of theirs
        if self.is_single_worker and self._chunks > 1 and self._busy > max(SECONDS, WAITS * self._cpu):
            self.use_all_workers()
            return
        elapsed = now - self._began
        times = LONGER if self._level else 1
        if (
            not (self.is_single_worker or self._level)
            and self._chunks > 1
            and self._rows < FAR_WORSE * elapsed * self._rates.get(True, 0.0)
        ):
            self._judge(now, 0.0)
        elif (
            self._chunks >= times * (CHUNKS if self._measures else self._settling)
            and elapsed >= times * SECONDS
        ):
            self._step(now, elapsed)

    def use_all_workers(self) -> None:
        """One worker alone does not get on: all of them, now, and for some time if this is not the first call."""
        if not self.is_single_worker:
            return
        now = time.perf_counter()
        self._calls += 1
        self._begin(self.workers, now)
        if self._calls >= CALLS:
            self._decide(now)

    @property
    def wants_gil_samples(self) -> bool:
        """Who waits for a chunk may look up."""
        return self.is_single_worker and not self.decided and self._looks - self._free <= LOOKS - FREE

    def record_gil_delay(self, late: float) -> None:
        """Who waited looked up, and had the interpreter so many seconds later than it asked for it."""
        self._looks += 1
        self._free += late < ON_TIME
        if self._free >= FREE:
            self._looks, self._free = LOOKS, 0  # once is enough
            self._begin(self.workers, time.perf_counter())
            self._let_in = True

    def _compare(self, now: float, busy: float, cpu: float) -> None:
        """A chunk while all were let in; the first ones may still be those of the one."""
        self._chunks += 1
        self._busy += busy
        self._cpu += cpu
        ended = self._chunks >= self.workers + CHUNKS
        if self._chunks > 1 and self._busy > (HARDLY if ended else MUCH) * self._cpu:
            self._let_in = False
            self._begin(1, now)  # it is measured, as ever
        elif ended:
            self._decide(now)

    def freeze(self) -> None:
        """Somebody else decides from here on."""
        self.workers, self.is_single_worker, self._let_in = 1, False, False

    def _step(self, now: float, elapsed: float) -> None:
        if not self._measures:
            self._measures = True
            self._restart(now)
            return
        self._rates[self.is_single_worker] = self._rows / elapsed
        if len(self._rates) == 2:
            self._judge(now, self._rates[False] / self._rates[True])
        else:
            self._begin(self.workers if self.is_single_worker else 1, now, keep=True)

    def _judge(self, now: float, gain: float) -> None:
        """All workers did so many times as much as one."""
        self._won = self._won + 1 if gain >= BETTER else 0
        won = self._won >= TIMES or gain >= FAR_BETTER
        if won == self.is_single_worker:
            self._work(self.workers if won else 1)
        if won or not self._won:
            self._decide(now)
        else:
            self._begin(1, now)  # a small gain has to show again

    def _decide(self, now: float) -> None:
        self.decided = True
        self._looks, self._free = LOOKS, 0  # what comes later is measured
        self._let_in = False
        self._again, self._interval = now + self._interval, self._interval * 2

    def _retry(self, now: float) -> None:
        self.decided, self._level, self._won, self._calls, self._waited = False, False, 0, 0, 0
        self._begin(1, now)

    def _begin(self, workers: int, now: float, keep: bool = False) -> None:
        """So many work from here on; measured once those are out that others had under way."""
        if self.is_single_worker != (workers == 1):
            self._work(workers)
            self._settling = CHUNKS
            # each has one under way, and may have taken the next before it heard
            self._late = 2 * self.workers if workers == 1 else 0
        if not keep:
            self._rates.clear()
        self._measures = False
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._began, self._chunks, self._rows = now, 0, 0
        self._busy = self._cpu = 0.0

    def _work(self, workers: int) -> None:
        self.is_single_worker = workers == 1
        self.use(workers)

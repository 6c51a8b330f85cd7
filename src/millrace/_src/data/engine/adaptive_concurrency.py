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
WARM_UP_CHUNKS = 8
# Before another, those that were under way come out; it lasts at least so many chunks, and seconds.
MIN_CHUNKS = 4
MIN_SECONDS = 0.03
# All workers must do better than one, for they cost more, and so many times; or so much better.
MIN_GAIN = 1.03
WINS_REQUIRED = 2
DECISIVE_GAIN = 1.4
# All workers that do only this part of what one did have lost before the time is over.
DECISIVE_LOSS = 0.75
# Chunks whose processor time is less than this part of their time wait for something.
WAIT_FACTOR = 3
# All workers were called for so often that they stay.
STALLS_REQUIRED = 2
# Times that who waits looks up, how many of them must find the interpreter free, and how late one may be to count so.
GIL_SAMPLES = 6
MIN_FREE_SAMPLES = 5
MAX_GIL_DELAY = 0.0005
# The time of a chunk may be so many times that of the processor; with two workers that take turns it is twice as long.
# Who waits so much more goes at once.
MAX_SLOWDOWN = 1.2
STOP_SLOWDOWN = 1.5
# Chunks that a consumer waited for while it never waited for enough of them in a row: it is about as fast as one
# worker, and a measurement takes so many times as long.
MAX_SCATTERED_WAITS = 64
BALANCED_DURATION_FACTOR = 4
# Seconds until the next test; doubled each time.
RETRY_SECONDS = 5.0


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
        self._gil_samples, self._free_gil_samples = (0, 0) if looks else (GIL_SAMPLES, 0)
        # all were let in because of that
        self._trying_all = False
        # chunks that may still come from workers that were sent to rest: how long they took says nothing of the one
        self._stale_chunks = 0
        # rows per second, with one worker and with all
        self._rates: dict[bool, float] = {}
        self._measuring = False
        self._settling_chunks = WARM_UP_CHUNKS
        self._wins = self._stalls = self._waits = 0
        # the consumer waits now and then: the chunks between count as well
        self._balanced = False
        self._retry_at, self._interval = float("inf"), RETRY_SECONDS
        self._started_at: float | None = None
        self._chunks = self._rows = 0
        self._busy = self._cpu = 0.0
        if workers > 1:
            self._set_workers(1)

    def record_chunk(self, rows: int, busy: float, cpu: float, waited: bool) -> None:
        """A chunk is done; ``waited`` says that the consumer had to wait for it, so that the rate counts."""
        if self.workers < 2:
            return
        now = time.perf_counter()
        if self.decided:
            if now >= self._retry_at:
                self._retry(now)
            return
        if self._stale_chunks:
            self._stale_chunks -= 1
            self._restart(now)
            return
        if self._trying_all:
            self._check_all_workers(now, busy, cpu)
            return
        self._waits += waited
        if self._started_at is None or not (waited or self._balanced):
            self._restart(now)
            self._balanced = self._waits > MAX_SCATTERED_WAITS
            return
        self._chunks += 1
        self._rows += rows
        self._busy += busy
        self._cpu += cpu
        # small chunks: a moment that another program took is no waiting of theirs
        if (
            self.is_single_worker
            and self._chunks > 1
            and self._busy > max(MIN_SECONDS, WAIT_FACTOR * self._cpu)
        ):
            self.use_all_workers()
            return
        elapsed = now - self._started_at
        duration_factor = BALANCED_DURATION_FACTOR if self._balanced else 1
        if (
            not (self.is_single_worker or self._balanced)
            and self._chunks > 1
            and self._rows < DECISIVE_LOSS * elapsed * self._rates.get(True, 0.0)
        ):
            self._compare_rates(now, 0.0)
        elif (
            self._chunks >= duration_factor * (MIN_CHUNKS if self._measuring else self._settling_chunks)
            and elapsed >= duration_factor * MIN_SECONDS
        ):
            self._finish_measurement(now, elapsed)

    def use_all_workers(self) -> None:
        """One worker alone does not get on: all of them, now, and for some time if this is not the first call."""
        if not self.is_single_worker:
            return
        now = time.perf_counter()
        self._stalls += 1
        self._start_measurement(self.workers, now)
        if self._stalls >= STALLS_REQUIRED:
            self._decide(now)

    @property
    def wants_gil_samples(self) -> bool:
        """Who waits for a chunk may look up."""
        return (
            self.is_single_worker
            and not self.decided
            and self._gil_samples - self._free_gil_samples <= GIL_SAMPLES - MIN_FREE_SAMPLES
        )

    def record_gil_delay(self, late: float) -> None:
        """Who waited looked up, and had the interpreter so many seconds later than it asked for it."""
        self._gil_samples += 1
        self._free_gil_samples += late < MAX_GIL_DELAY
        if self._free_gil_samples >= MIN_FREE_SAMPLES:
            self._gil_samples, self._free_gil_samples = GIL_SAMPLES, 0  # once is enough
            self._start_measurement(self.workers, time.perf_counter())
            self._trying_all = True

    def _check_all_workers(self, now: float, busy: float, cpu: float) -> None:
        """A chunk while all were let in; the first ones may still be those of the one."""
        self._chunks += 1
        self._busy += busy
        self._cpu += cpu
        ended = self._chunks >= self.workers + MIN_CHUNKS
        if self._chunks > 1 and self._busy > (MAX_SLOWDOWN if ended else STOP_SLOWDOWN) * self._cpu:
            self._trying_all = False
            self._start_measurement(1, now)  # it is measured, as ever
        elif ended:
            self._decide(now)

    def freeze(self) -> None:
        """Somebody else decides from here on."""
        self.workers, self.is_single_worker, self._trying_all = 1, False, False

    def _finish_measurement(self, now: float, elapsed: float) -> None:
        if not self._measuring:
            self._measuring = True
            self._restart(now)
            return
        self._rates[self.is_single_worker] = self._rows / elapsed
        if len(self._rates) == 2:
            self._compare_rates(now, self._rates[False] / self._rates[True])
        else:
            self._start_measurement(self.workers if self.is_single_worker else 1, now, keep=True)

    def _compare_rates(self, now: float, gain: float) -> None:
        """All workers did so many times as much as one."""
        self._wins = self._wins + 1 if gain >= MIN_GAIN else 0
        won = self._wins >= WINS_REQUIRED or gain >= DECISIVE_GAIN
        if won == self.is_single_worker:
            self._set_workers(self.workers if won else 1)
        if won or not self._wins:
            self._decide(now)
        else:
            self._start_measurement(1, now)  # a small gain has to show again

    def _decide(self, now: float) -> None:
        self.decided = True
        self._gil_samples, self._free_gil_samples = GIL_SAMPLES, 0  # what comes later is measured
        self._trying_all = False
        self._retry_at, self._interval = now + self._interval, self._interval * 2

    def _retry(self, now: float) -> None:
        self.decided, self._balanced, self._wins, self._stalls, self._waits = False, False, 0, 0, 0
        self._start_measurement(1, now)

    def _start_measurement(self, workers: int, now: float, keep: bool = False) -> None:
        """So many work from here on; measured once those are out that others had under way."""
        if self.is_single_worker != (workers == 1):
            self._set_workers(workers)
            self._settling_chunks = MIN_CHUNKS
            # each has one under way, and may have taken the next before it heard
            self._stale_chunks = 2 * self.workers if workers == 1 else 0
        if not keep:
            self._rates.clear()
        self._measuring = False
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._started_at, self._chunks, self._rows = now, 0, 0
        self._busy = self._cpu = 0.0

    def _set_workers(self, workers: int) -> None:
        self.is_single_worker = workers == 1
        self.use(workers)

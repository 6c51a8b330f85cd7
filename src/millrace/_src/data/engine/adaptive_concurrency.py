"""Adaptive concurrency control: how many worker threads of a segment run at once under the GIL.

Threads that run pure Python code cannot run at the same time: they contend for the GIL, and two may get half as much
done as one alone. Threads that only copy memory share the memory bandwidth. Whether more workers help is therefore
measured. One worker starts. After the consumer has waited for a number of its chunks, all workers run for the same
time; they stay active if their throughput is higher twice in a row. Where the single worker waits (for a disk, or for
another worker), all workers are activated at once. A consumer that is about as fast as one worker waits only now and
then; in that case the throughput of both together is compared over a longer time. A busy machine can distort a
measurement, so every decision is tested again later, at increasing intervals.

A measurement runs at half the speed in cases where all workers would have helped. Whether a user function holds the GIL
can often be detected sooner: while the consumer waits for a chunk, it samples a few times how long it takes to acquire
the GIL. If the GIL is free each time, the other workers are activated. They stay active if wall time per chunk is only
slightly larger than CPU time: a thread that waits for the GIL uses no CPU time.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["AdaptiveConcurrency"]

# Chunks before the first measurement: chunk sizes grow at first.
WARM_UP_CHUNKS = 8
# Chunks in flight finish before another measurement starts. A measurement has at least this many chunks and seconds.
MIN_CHUNKS = 4
MIN_SECONDS = 0.03
# All workers cost more than one, so their throughput must exceed it by this factor, this many times in a row, or once
# by the larger factor.
MIN_GAIN = 1.03
WINS_REQUIRED = 2
DECISIVE_GAIN = 1.4
# All workers together lose early when their throughput is below this fraction of one worker's.
DECISIVE_LOSS = 0.75
# A chunk waits for I/O when its CPU time is less than wall time divided by this.
WAIT_FACTOR = 3
# All workers stay active after this many stalls of the single worker.
STALLS_REQUIRED = 2
# Number of GIL samples, how many of them must find the GIL free, and the largest delay in seconds that counts as free.
GIL_SAMPLES = 6
MIN_FREE_SAMPLES = 5
MAX_GIL_DELAY = 0.0005
# Largest ratio of wall time to CPU time of chunks with all workers; with two workers that contend for the GIL it is 2.
# Above the second ratio the trial ends at once.
MAX_SLOWDOWN = 1.2
STOP_SLOWDOWN = 1.5
# Waits that never came often enough in a row: the consumer is about as fast as one worker, and a measurement takes this
# many times as long.
MAX_SCATTERED_WAITS = 64
BALANCED_DURATION_FACTOR = 4
# Seconds until the next test; doubled each time.
RETRY_SECONDS = 5.0


class AdaptiveConcurrency:
    """Decide the number of active worker threads from the measurements of finished chunks.

    ``use(n)`` is called when the number of active threads should change.
    """

    def __init__(
        self, workers: int, use: Callable[[int], None], bound: bool = False, looks: bool = False
    ) -> None:
        """``bound``: only one thread can run at a time; ``looks``: GIL availability may be sampled."""
        self.workers, self.use = workers, use
        self.decided = workers < 2 or bound
        self.is_single_worker = False
        # GIL samples taken, and samples that found the GIL free
        self._gil_samples, self._free_gil_samples = (0, 0) if looks else (GIL_SAMPLES, 0)
        # all workers are active because the samples found the GIL free
        self._trying_all = False
        # Chunks that may still arrive from deactivated workers; their times do not describe the single worker.
        self._stale_chunks = 0
        # rows per second, with one worker and with all
        self._rates: dict[bool, float] = {}
        self._measuring = False
        self._settling_chunks = WARM_UP_CHUNKS
        self._wins = self._stalls = self._waits = 0
        # the consumer waits now and then: chunks in between count as well
        self._balanced = False
        self._retry_at, self._interval = float("inf"), RETRY_SECONDS
        self._started_at: float | None = None
        self._chunks = self._rows = 0
        self._busy = self._cpu = 0.0
        if workers > 1:
            self._set_workers(1)

    def record_chunk(self, rows: int, busy: float, cpu: float, waited: bool) -> None:
        """Record a finished chunk. ``waited``: the consumer waited for it, so it counts for the throughput."""
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
        # for small chunks, a short preemption by another program is not a wait
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
        """Activate all workers because the single worker stalled; permanently if this happened before."""
        if not self.is_single_worker:
            return
        now = time.perf_counter()
        self._stalls += 1
        self._start_measurement(self.workers, now)
        if self._stalls >= STALLS_REQUIRED:
            self._decide(now)

    @property
    def wants_gil_samples(self) -> bool:
        """Whether the waiting consumer should sample GIL availability."""
        return (
            self.is_single_worker
            and not self.decided
            and self._gil_samples - self._free_gil_samples <= GIL_SAMPLES - MIN_FREE_SAMPLES
        )

    def record_gil_delay(self, late: float) -> None:
        """Record one GIL sample: the GIL was acquired ``late`` seconds after it was requested."""
        self._gil_samples += 1
        self._free_gil_samples += late < MAX_GIL_DELAY
        if self._free_gil_samples >= MIN_FREE_SAMPLES:
            self._gil_samples, self._free_gil_samples = GIL_SAMPLES, 0  # sample only once
            self._start_measurement(self.workers, time.perf_counter())
            self._trying_all = True

    def _check_all_workers(self, now: float, busy: float, cpu: float) -> None:
        """Evaluate a chunk of the trial with all workers; the first ones may still come from the single worker."""
        self._chunks += 1
        self._busy += busy
        self._cpu += cpu
        ended = self._chunks >= self.workers + MIN_CHUNKS
        if self._chunks > 1 and self._busy > (MAX_SLOWDOWN if ended else STOP_SLOWDOWN) * self._cpu:
            self._trying_all = False
            self._start_measurement(1, now)  # fall back to a measurement
        elif ended:
            self._decide(now)

    def freeze(self) -> None:
        """Stop adapting: the number of workers is set elsewhere from now on."""
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
        """Decide from the throughput of all workers relative to that of one."""
        self._wins = self._wins + 1 if gain >= MIN_GAIN else 0
        won = self._wins >= WINS_REQUIRED or gain >= DECISIVE_GAIN
        if won == self.is_single_worker:
            self._set_workers(self.workers if won else 1)
        if won or not self._wins:
            self._decide(now)
        else:
            self._start_measurement(1, now)  # a small gain must be confirmed

    def _decide(self, now: float) -> None:
        self.decided = True
        self._gil_samples, self._free_gil_samples = GIL_SAMPLES, 0  # later decisions use measurements
        self._trying_all = False
        self._retry_at, self._interval = now + self._interval, self._interval * 2

    def _retry(self, now: float) -> None:
        self.decided, self._balanced, self._wins, self._stalls, self._waits = False, False, 0, 0, 0
        self._start_measurement(1, now)

    def _start_measurement(self, workers: int, now: float, keep: bool = False) -> None:
        """Start a measurement with this many workers, after the chunks in flight have finished."""
        if self.is_single_worker != (workers == 1):
            self._set_workers(workers)
            self._settling_chunks = MIN_CHUNKS
            # each worker has one chunk in flight and may have taken the next one already
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

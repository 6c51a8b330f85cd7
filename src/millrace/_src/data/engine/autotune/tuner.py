"""Autotune of one run: times the consumer's steps, runs the search and applies its values to the stages.

It runs in the consumer's thread before each pull. Stages apply new values themselves, between two chunks. Rows, their
order and positions do not depend on any of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from millrace._src.core.log import get_logger
from millrace._src.core.machine.cores import available_cores
from millrace._src.core.statistics import RunStats
from millrace._src.core.tuned import AutotuneRecord, AutotuneTrial
from millrace._src.data.engine.stages.prefetch import PrefetchStage
from millrace._src.data.engine.stages.segment import SegmentStage
from millrace._src.data.engine.thread_limits import MemoryBudget

from .config_file import AutotuneFile
from .knobs import Knobs
from .measurement import StepTiming, average
from .search import Attempt, ResourceLimits, Search

__all__ = ["Tuner"]

log = get_logger(__name__)

# Steps before the first measurement, and steps, seconds and pulls that each measurement has at least.
WARM_UP_STEPS = 4
STEPS = 8
MIN_SECONDS = 0.05
MIN_PULLS = 4
# Measurements take this many times as long after the search has settled.
SETTLED_INTERVAL_FACTOR = 4
# Limits of the number of steps after a change in which chunks in flight finish, then timeouts in seconds for starting
# worker processes (which can be slow and slows down all others on a busy machine) and for applying values.
MIN_SETTLING, MAX_SETTLING = 2, 12
START_TIMEOUT, APPLY_TIMEOUT = 60.0, 1.0


class Tuner:
    def __init__(
        self,
        stats: RunStats,
        budget: MemoryBudget,
        segments: Sequence[SegmentStage],
        prefetch_stages: Sequence[PrefetchStage],
        interval: int = 0,
        saved: AutotuneFile | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.stats, self.budget, self.saved = stats, budget, saved
        self.knobs = Knobs(segments, prefetch_stages)
        self.record = stats.tuning = AutotuneRecord(settings=list(self.knobs.settings.values()))
        self._steps, self._clock = interval or STEPS, clock
        self._search: Search | None = None
        self._known = False
        self._last = (0, 0.0, 0.0, 0)
        self._timings: list[StepTiming] = []
        # steps delivered when this measurement started
        self._first_step = 0
        # remaining settling steps, and when values were last applied
        self._settling_steps, self._applied_at = WARM_UP_STEPS, 0.0
        self._lock = threading.Lock()
        self._load()

    def register_knob(
        self, name: str, where: str, value: int, least: int, most: int, change: Callable[[int], None]
    ) -> None:
        """Register a buffer of batches after the pipeline; only before the first step."""
        with self._lock:
            if self._search is None:
                self.knobs.offer(name, name, where, value, least, most, change)
                self.record.settings = list(self.knobs.settings.values())

    # in the consumer's thread ----------------------------------------------------------------------

    def on_step(self) -> None:
        """Update the tuning; called before each pull."""
        stats = self.stats
        now = (stats.delivered, stats.consumer_wait, stats.consumer_busy, stats.epochs)
        (delivered, wait, busy, epochs), self._last = self._last, now
        steps = now[0] - delivered
        if steps <= 0 or now[3] != epochs:
            return  # time between two epochs is not a step
        if self._is_reconfiguring():
            self._start_measurement()
            return
        if self._settling_steps > 0:
            self._settling_steps -= steps
            self._start_measurement()
            return
        self._timings.append(StepTiming(steps, now[1] - wait, now[2] - busy))
        if self._has_enough_timings():
            self._decide()

    def _is_reconfiguring(self) -> bool:
        """Whether applied values are not in force yet. A stage applies values only when it is pulled."""
        if not self._applied_at:
            return False
        passed = self._clock() - self._applied_at
        if not (self.knobs.has_pending_config and passed < APPLY_TIMEOUT) and not (
            self.knobs.has_starting_workers and passed < START_TIMEOUT
        ):
            self._applied_at = 0.0
        return self._applied_at > 0

    def _start_measurement(self) -> None:
        self._timings.clear()
        self._first_step = self.stats.delivered
        self.knobs.reset_counters()

    def _has_enough_timings(self) -> bool:
        timings, duration_factor = self._timings, 1
        if self._search is not None and self._search.settled:
            duration_factor = SETTLED_INTERVAL_FACTOR
        steps = sum(timing.steps for timing in timings)
        took = sum(timing.wait + timing.busy for timing in timings)
        return (
            steps >= duration_factor * self._steps
            and len(timings) >= MIN_PULLS
            and took >= duration_factor * MIN_SECONDS
        )

    def _decide(self) -> None:
        seen = average(self._timings, self.knobs.parts(max(1, self.stats.delivered - self._first_step)))
        with self._lock:
            if self._search is None:
                self._search = self._start_search(1 / seen.seconds if seen.seconds else 0.0)
            search = self._search
        was_settled, tried = search.settled, search.values != search.best
        attempt = search.observe(seen)
        if attempt is not None:
            self._record_attempt(attempt)
        if not tried or (attempt is not None and attempt.kept):  # otherwise these values are still on trial
            self.record.rate = self._rows_per_second(1 / seen.seconds if seen.seconds else 0.0)
        if was_settled and not search.settled:
            self.record.settled_at = None
        if search.values != self.knobs.values:
            window = max((part.window / max(part.chunks, 1e-9) for part in seen.parts), default=0.0)
            self._settling_steps = max(MIN_SETTLING, min(MAX_SETTLING, round(window)))
            self._applied_at = self._clock()
            self.knobs.apply(search.values)
        elif search.settled and not was_settled:
            self._finish_search()
        self._start_measurement()

    def _start_search(self, rate: float) -> Search:
        """Start the search after warm-up."""
        self.knobs.refresh_values()
        self.record.first_rate = self._rows_per_second(rate)
        self.knobs.apply(dict(self.knobs.values))
        limits = ResourceLimits(available_cores(), self.budget.limit)
        return Search(self.knobs.knobs, self.knobs.values, limits, known=self._known)

    def _rows_per_second(self, steps: float) -> float:
        """Rows per second from steps per second."""
        stats = self.stats
        return steps * stats.rows / stats.delivered if stats.delivered and stats.rows else steps

    # log -------------------------------------------------------------------------------------------

    def _record_attempt(self, attempt: Attempt) -> None:
        settings = self.knobs.settings
        before, after = (self._rows_per_second(1 / seen.seconds) for seen in (attempt.before, attempt.after))
        changes = tuple(
            (settings[name].stage, settings[name].knob, old, new)
            for name, (old, new) in attempt.changes.items()
        )
        self.record.tried.append(
            AutotuneTrial(self.stats.delivered, attempt.why, changes, before, after, attempt.kept)
        )
        changed = "; ".join(f"{stage}: {knob} {old} -> {new}" for stage, knob, old, new in changes)
        action = "keeps" if attempt.kept else "reverts"
        log.info(
            "autotune %s %s (%s): %.4g -> %.4g rows/s at step %d",
            action,
            changed,
            attempt.why,
            before,
            after,
            self.stats.delivered,
        )

    def _finish_search(self) -> None:
        record = self.record
        record.settled_at = self.stats.delivered
        changed = "; ".join(f"{s.stage}: {s.knob} {s.before} -> {s.now}" for s in record.changed)
        log.info(
            "autotune has settled after %d steps: %.4g -> %.4g rows/s; %s",
            self.stats.delivered,
            record.first_rate,
            record.rate,
            changed or "no change was needed",
        )
        self.save()

    # files -----------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Load the values of an earlier run of the same plan."""
        values = None if self.saved is None else self.saved.load(self.knobs)
        if not values or self.saved is None:
            return
        self._known, self.record.loaded = True, self.saved.path
        self.knobs.start_from(values)

    def finish(self) -> None:
        """End of the run: report the best values, without the current trial."""
        if self._search is not None:
            for name, value in self._search.best.items():
                self.knobs.settings[name].now = value
        self.save()

    def save(self) -> None:
        """Write the values, if a file was named and there is something to write."""
        if self.saved is not None and (self._search is not None or self._known):
            values = self.knobs.values if self._search is None else self._search.best
            if self.saved.save(self.knobs, values, self.record):
                self.record.saved = self.saved.path

"""Autotune of one run: looks at the consumer's steps, asks the search, and hands its numbers to the stages.

It lives in the consumer's thread, and is called before each pull. Stages take new numbers over by themselves, between
two chunks; no row, no order and no position depends on any of them.
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

# Steps before the first measurement, and of each; it also lasts so long, and so many pulls.
WARM_UP = 4
STEPS = 8
SECONDS = 0.05
PULLS = 4
# When nothing is left to try, it looks so many times less often.
RARELY = 4
# After a change, what was under way comes out first: at least, and at most, so many steps. So many seconds are given to
# worker processes that are starting: on a busy machine that takes a while, and slows down all others.
LEAST_SETTLING, MOST_SETTLING = 2, 12
STARTING, TAKING_OVER = 60.0, 1.0


class Tuner:
    def __init__(
        self,
        stats: RunStats,
        budget: MemoryBudget,
        segments: Sequence[SegmentStage],
        pumps: Sequence[PrefetchStage],
        interval: int = 0,
        saved: AutotuneFile | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.stats, self.budget, self.saved = stats, budget, saved
        self.knobs = Knobs(segments, pumps)
        self.record = stats.tuning = AutotuneRecord(settings=list(self.knobs.settings.values()))
        self._steps, self._clock = interval or STEPS, clock
        self._search: Search | None = None
        self._known = False
        self._last = (0, 0.0, 0.0, 0)
        self._looks: list[StepTiming] = []
        # the steps that were delivered when this measurement began
        self._began = 0
        # steps of settling that are left, and when stages were last asked for something
        self._settling, self._asked = WARM_UP, 0.0
        self._lock = threading.Lock()
        self._load()

    def register_knob(
        self, name: str, where: str, value: int, least: int, most: int, change: Callable[[int], None]
    ) -> None:
        """Another place in which batches lie ready, behind the run; before the first step."""
        with self._lock:
            if self._search is None:
                self.knobs.offer(name, name, where, value, least, most, change)
                self.record.settings = list(self.knobs.settings.values())

    # in the consumer's thread ----------------------------------------------------------------------

    def on_step(self) -> None:
        """Called before each pull."""
        stats = self.stats
        now = (stats.delivered, stats.consumer_wait, stats.consumer_busy, stats.epochs)
        (delivered, wait, busy, epochs), self._last = self._last, now
        steps = now[0] - delivered
        if steps <= 0 or now[3] != epochs:
            return  # what a user does between two epochs is no step
        if self._waits_for_workers():
            self._begin()
            return
        if self._settling > 0:
            self._settling -= steps
            self._begin()
            return
        self._looks.append(StepTiming(steps, now[1] - wait, now[2] - busy))
        if self._is_enough():
            self._decide()

    def _waits_for_workers(self) -> bool:
        """Whether what was asked for is not there yet. A stage that is not asked for chunks takes nothing over."""
        if not self._asked:
            return False
        passed = self._clock() - self._asked
        if not (self.knobs.asked and passed < TAKING_OVER) and not (
            self.knobs.starting and passed < STARTING
        ):
            self._asked = 0.0
        return self._asked > 0

    def _begin(self) -> None:
        self._looks.clear()
        self._began = self.stats.delivered
        self.knobs.mark()

    def _is_enough(self) -> bool:
        looks, times = self._looks, 1
        if self._search is not None and self._search.settled:
            times = RARELY
        steps = sum(look.steps for look in looks)
        took = sum(look.wait + look.busy for look in looks)
        return steps >= times * self._steps and len(looks) >= PULLS and took >= times * SECONDS

    def _decide(self) -> None:
        seen = average(self._looks, self.knobs.parts(max(1, self.stats.delivered - self._began)))
        with self._lock:
            if self._search is None:
                self._search = self._first(1 / seen.seconds if seen.seconds else 0.0)
            search = self._search
        was_settled, tried = search.settled, search.values != search.best
        attempt = search.observe(seen)
        if attempt is not None:
            self._note(attempt)
        if not tried or (attempt is not None and attempt.kept):  # else these numbers are no result yet
            self.record.rate = self._rows(1 / seen.seconds if seen.seconds else 0.0)
        if was_settled and not search.settled:
            self.record.settled_at = None
        if search.values != self.knobs.values:
            window = max((part.window / max(part.chunks, 1e-9) for part in seen.parts), default=0.0)
            self._settling = max(LEAST_SETTLING, min(MOST_SETTLING, round(window)))
            self._asked = self._clock()
            self.knobs.apply(search.values)
        elif search.settled and not was_settled:
            self._end_of_search()
        self._begin()

    def _first(self, rate: float) -> Search:
        """The run has found its pace."""
        self.knobs.look_again()
        self.record.first_rate = self._rows(rate)
        self.knobs.apply(dict(self.knobs.values))
        room = ResourceLimits(available_cores(), self.budget.limit)
        return Search(self.knobs.knobs, self.knobs.values, room, known=self._known)

    def _rows(self, steps: float) -> float:
        """Rows per second from steps per second."""
        stats = self.stats
        return steps * stats.rows / stats.delivered if stats.delivered and stats.rows else steps

    # what it did -----------------------------------------------------------------------------------

    def _note(self, attempt: Attempt) -> None:
        settings = self.knobs.settings
        before, after = (self._rows(1 / seen.seconds) for seen in (attempt.before, attempt.after))
        changes = tuple(
            (settings[name].stage, settings[name].knob, old, new)
            for name, (old, new) in attempt.changes.items()
        )
        self.record.tried.append(
            AutotuneTrial(self.stats.delivered, attempt.why, changes, before, after, attempt.kept)
        )
        words = "; ".join(f"{stage}: {knob} {old} -> {new}" for stage, knob, old, new in changes)
        verb = "keeps" if attempt.kept else "gives back"
        log.info(
            "autotune %s %s (%s): %.4g -> %.4g rows/s at step %d",
            verb,
            words,
            attempt.why,
            before,
            after,
            self.stats.delivered,
        )

    def _end_of_search(self) -> None:
        record = self.record
        record.settled_at = self.stats.delivered
        changed = "; ".join(f"{s.stage}: {s.knob} {s.before} -> {s.now}" for s in record.changed)
        log.info(
            "autotune has settled after %d steps: %.4g -> %.4g rows/s; %s",
            self.stats.delivered,
            record.first_rate,
            record.rate,
            changed or "nothing had to be changed",
        )
        self.save()

    # files -----------------------------------------------------------------------------------------

    def _load(self) -> None:
        """Begin with what an earlier run of the same plan has found."""
        found = None if self.saved is None else self.saved.load(self.knobs)
        if not found or self.saved is None:
            return
        self._known, self.record.loaded = True, self.saved.path
        self.knobs.begin_with(found)

    def finish(self) -> None:
        """The run is over: what was being tried is no result."""
        if self._search is not None:
            for name, value in self._search.best.items():
                self.knobs.settings[name].now = value
        self.save()

    def save(self) -> None:
        """Write the numbers down, where a file was named and there is something to write."""
        if self.saved is not None and (self._search is not None or self._known):
            values = self.knobs.values if self._search is None else self._search.best
            if self.saved.save(self.knobs, values, self.record):
                self.record.saved = self.saved.path

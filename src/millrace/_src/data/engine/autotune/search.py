"""Autotune search: hill climbing over knobs from measured step times; independent of the engine.

The first trial is an estimate from the seconds that each stage needs per step: enough workers that the consumer does
not wait, or as many as cores and memory allow. Then one knob at a time is changed, the most promising first. A change
without gain is reverted, and the reference is measured again, because a shared machine changes over time. A gain counts
when it exceeds the noise of both measurements. When the consumer no longer waits, nothing more is added, and workers
with low load are removed unless throughput drops. After that the search only monitors the run, and it starts again when
the run has become permanently slower.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from .measurement import Measurement, StageMeasurement

__all__ = ["AHEAD", "CHUNK", "WORKERS", "Attempt", "Knob", "ResourceLimits", "Search"]

WORKERS, CHUNK, AHEAD = "workers", "chunk", "ahead"

# A consumer that waits for a smaller share of its time counts as not waiting.
MAX_IDLE_WAIT = 0.03
# An increase must gain at least this factor, more where the noise is larger; a reduction may cost this factor.
GAIN, LOSS = 1.05, 0.97
NOISE_FACTOR = 2.0
MAX_NOISE_MARGIN = 0.3
# A change without gain is tried again after all others: another program may have disturbed the measurement.
MAX_TRIES = 2
# A result below this factor is measured again before it counts: it may be an outlier.
RECHECK_BELOW = 0.8
# Workers beyond the consumer's own speed: steps differ, and results leave in order, so one worker's result may wait for
# another's.
MARGIN = 1.5
# Below the first load a stage is not the bottleneck; above the second, deeper prefetching does not help.
IDLE, SATURATED = 0.5, 0.9
# Stages whose loads are within this factor of the largest limit the run together.
TIED = 0.8
# Target load of the workers after a reduction.
TARGET_LOAD = 0.65
# Threads that use this share of one core may contend for the GIL.
GIL_CONTENTION = 0.6
# Target range of seconds per chunk: small hand-over cost, and no long wait for one worker.
MIN_CHUNK_SECONDS, MAX_CHUNK_SECONDS = 0.005, 0.05
# The memory budget is the limit when it refused this share of the chunks; this share of its bytes is planned with.
BUDGET_BOUND, USABLE_BUDGET = 0.3, 0.8
# A run that is slower by this factor, this many times in a row, has changed.
SLOWDOWN, SLOW_MEASUREMENTS = 0.8, 3


@dataclasses.dataclass(frozen=True)
class Knob:
    """A tunable parameter. ``part`` is the stage it belongs to, -1 for buffers between stages."""

    name: str
    parameter: str
    part: int
    minimum: int
    maximum: int


@dataclasses.dataclass(frozen=True)
class ResourceLimits:
    """Available resources: cores, and bytes that may be held."""

    cores: int
    nbytes: int


@dataclasses.dataclass(frozen=True)
class Attempt:
    """A trial and its outcome: reason, changed values (from, to), and measurements before and after."""

    why: str
    changes: Mapping[str, tuple[int, int]]
    before: Measurement
    after: Measurement
    kept: bool


@dataclasses.dataclass(frozen=True)
class _SearchTrial:
    why: str
    values: dict[str, int]
    before: Measurement
    # a reduction: kept unless throughput drops
    is_reduction: bool = False
    # the first result was bad and is being measured again
    is_recheck: bool = False


class Search:
    """The search; ``values`` are the values to apply now. :meth:`observe` may change them."""

    def __init__(
        self, knobs: Sequence[Knob], values: Mapping[str, int], limits: ResourceLimits, *, known: bool = False
    ) -> None:
        """``known``: the values come from an earlier run, so no first estimate is needed."""
        self.knobs, self.limits = tuple(knobs), limits
        self.values = dict(values)
        self.settled = False
        self._kept = dict(values)
        self._base: Measurement | None = None
        self._trial: _SearchTrial | None = None
        self._guessed = known
        # how often each change was tried without gain
        self._failed: dict[frozenset[tuple[str, tuple[int, int]]], int] = {}
        self._reducing = False
        self._reduced: set[str] = set()
        self._slow_measurements = 0

    @property
    def best(self) -> dict[str, int]:
        """The best values so far, without the current trial."""
        return dict(self._kept)

    def observe(self, seen: Measurement) -> Attempt | None:
        """Process a measurement taken under ``values``. Returns the attempt that it decided, if any."""
        if self.settled:
            self._check_for_slowdown(seen)
            return None
        attempt = None
        if self._trial is not None:
            if not self._trial.is_recheck and seen.gain_over(self._trial.before) < RECHECK_BELOW:
                self._trial = dataclasses.replace(self._trial, is_recheck=True)
                return None
            attempt = self._judge(self._trial, seen)
            self._trial = None
            if not attempt.kept:
                self.values, self._base = dict(self._kept), None
                return attempt
        if self._base is None:
            self._base = seen
        self._start_next_trial(self._base)
        return attempt

    # decisions -------------------------------------------------------------------------------------

    def _judge(self, trial: _SearchTrial, seen: Measurement) -> Attempt:
        before = trial.before
        gain = seen.gain_over(before)
        doubt = min(MAX_NOISE_MARGIN, NOISE_FACTOR * math.hypot(seen.noise, before.noise))
        if trial.is_reduction:
            kept = gain >= LOSS and seen.waiting <= max(MAX_IDLE_WAIT, before.waiting + 1 - LOSS)
        else:
            kept = gain >= max(GAIN, 1 + doubt)
        changes = self._changes(trial)
        if kept:
            self._kept, self._base = dict(trial.values), seen
            self._failed.clear()
        else:
            self._failed[frozenset(changes.items())] = self._failures(trial) + 1
        return Attempt(trial.why, changes, before, seen, kept)

    def _check_for_slowdown(self, seen: Measurement) -> None:
        assert self._base is not None
        slower = seen.gain_over(self._base) < SLOWDOWN and seen.waiting > MAX_IDLE_WAIT
        self._slow_measurements = self._slow_measurements + 1 if slower else 0
        if self._slow_measurements >= SLOW_MEASUREMENTS:
            self.settled = self._guessed = self._reducing = False
            self._base, self._slow_measurements = None, 0
            self._failed.clear()
            self._reduced.clear()

    # candidates ------------------------------------------------------------------------------------

    def _start_next_trial(self, seen: Measurement) -> None:
        """Start the next trial, or end the search."""
        quiet = seen.waiting < MAX_IDLE_WAIT
        if not self._guessed and not quiet:
            self._guessed = True
            guess = self._guess(seen)
            if guess != self.values:
                self._start_trial(_SearchTrial("first estimate from the time of a step", guess, seen))
                return
        self._reducing = self._reducing or quiet
        trials = (
            [] if self._reducing else [t for t in self._increases(seen) if self._is_worth_trying(t, seen)]
        )
        if trials:
            self._start_trial(min(trials, key=self._failures))  # the first of those with the fewest failures
            return
        self._reducing = True
        for trial in self._reductions(seen):
            self._start_trial(trial)
            return
        self.settled = True

    def _start_trial(self, trial: _SearchTrial) -> None:
        self._trial, self.values = trial, dict(trial.values)

    def _is_worth_trying(self, trial: _SearchTrial, seen: Measurement) -> bool:
        return (
            trial.values != self._kept
            and self._failures(trial) < MAX_TRIES
            and self._fits(trial.values, seen)
        )

    def _failures(self, trial: _SearchTrial) -> int:
        return self._failed.get(frozenset(self._changes(trial).items()), 0)

    def _changes(self, trial: _SearchTrial) -> dict[str, tuple[int, int]]:
        return {n: (self._kept[n], v) for n, v in trial.values.items() if v != self._kept[n]}

    def _guess(self, seen: Measurement) -> dict[str, int]:
        """Workers for the rate at which the consumer would not wait, or the maximum that cores and memory allow."""
        rates = [MARGIN / seen.busy] if seen.busy > 0 else []
        cpu = sum(part.cpu for part in seen.parts)
        rates += [self.limits.cores / cpu] if cpu > 0 else []
        rates += [1 / part.serial for part in seen.parts if part.serial > 0]
        rate = min(rates, default=math.inf)
        values = dict(self.values)
        for knob in self._knobs_of(WORKERS):
            wanted = rate * seen.parts[knob.part].cost
            now = values[knob.name]
            values[knob.name] = _clamp(knob, max(now, math.ceil(min(wanted, knob.maximum) - 0.1)))
        while not self._fits(values, seen):
            largest = max(
                self._knobs_of(WORKERS), key=lambda knob: values[knob.name] - self.values[knob.name]
            )
            if values[largest.name] <= self.values[largest.name]:
                return dict(self.values)
            values[largest.name] -= 1
        return values

    def _increases(self, seen: Measurement) -> Iterator[_SearchTrial]:
        """Increase or decrease one value, the most promising first."""
        parts = seen.parts
        by_load = sorted(range(len(parts)), key=lambda i: _load(parts[i], seen), reverse=True)
        squeezed = any(part.refused_share > BUDGET_BOUND for part in parts)
        # stages that limit the run together gain nothing alone
        tied = [i for i in by_load if _load(parts[i], seen) >= TIED * _load(parts[by_load[0]], seen)]
        if len(tied) > 1 and not squeezed:
            together = {
                k.name: _clamp(k, _increase_workers(self.values[k.name]))
                for k in self._knobs_of(WORKERS)
                if k.part in tied
            }
            yield _SearchTrial("their workers are busy", self.values | together, seen)
        for i in () if squeezed else by_load:
            if _load(parts[i], seen) >= IDLE:
                yield from self._trials_for(WORKERS, i, _increase_workers, "its workers are busy", seen)
        for i in by_load:
            took = parts[i].cost / parts[i].chunks if parts[i].chunks > 0 else 0.0
            if 0 < took < MIN_CHUNK_SECONDS and not squeezed:
                yield from self._trials_for(CHUNK, i, lambda v: 2 * v, "its chunks are short", seen)
            elif took > MAX_CHUNK_SECONDS or squeezed:
                yield from self._trials_for(CHUNK, i, lambda v: v // 2, "its chunks are long", seen)
        if not squeezed and all(_load(part, seen) < SATURATED for part in parts):
            for i in [*by_load, -1]:
                increase = functools.partial(_double, minimum=parts[i].window if i >= 0 else 0)
                yield from self._trials_for(
                    AHEAD, i, increase, "the consumer waits for it now and then", seen
                )
        for i in by_load:
            if parts[i].contends_for_gil and parts[i].cpu > GIL_CONTENTION * seen.seconds:
                yield from self._trials_for(
                    WORKERS, i, lambda v: v // 2, "they may contend for the GIL", seen
                )

    def _reductions(self, seen: Measurement) -> Iterator[_SearchTrial]:
        """Fewer workers where the load is low."""
        most = max((_load(part, seen) for part in seen.parts), default=0.0)
        for knob in self._knobs_of(WORKERS):
            part, now = seen.parts[knob.part], self.values[knob.name]
            if seen.waiting >= MAX_IDLE_WAIT and _load(part, seen) > TIED * most:
                continue  # the consumer waits for this stage
            fewer = max(knob.minimum, math.ceil(part.cost / seen.seconds / TARGET_LOAD))
            if (
                knob.name not in self._reduced
                and fewer < now
                and part.cost < TARGET_LOAD * now * seen.seconds
            ):
                self._reduced.add(knob.name)
                yield _SearchTrial(
                    "its workers have a low load",
                    {**self.values, knob.name: fewer},
                    seen,
                    is_reduction=True,
                )

    def _trials_for(
        self, parameter: str, part: int, change: Callable[[int], int], why: str, seen: Measurement
    ) -> Iterator[_SearchTrial]:
        for knob in self._knobs_of(parameter):
            if knob.part == part:
                trial = self._trial_with(knob, change(self.values[knob.name]), why, seen)
                if trial.values != self.values:
                    yield trial

    def _trial_with(self, knob: Knob, value: int, why: str, seen: Measurement) -> _SearchTrial:
        return _SearchTrial(why, {**self.values, knob.name: _clamp(knob, value)}, seen)

    def _knobs_of(self, parameter: str) -> list[Knob]:
        return [knob for knob in self.knobs if knob.parameter == parameter]

    def _fits(self, values: Mapping[str, int], seen: Measurement) -> bool:
        """Whether chunks in flight and prefetched chunks fit into the memory budget."""
        held = 0.0
        for i, part in enumerate(seen.parts):
            mine = {knob.parameter: values[knob.name] for knob in self.knobs if knob.part == i}
            before = {knob.parameter: self.values[knob.name] for knob in self.knobs if knob.part == i}
            grown = mine.get(WORKERS, part.workers) / max(1, part.workers)
            window = max(part.window * grown, mine.get(AHEAD, 0))
            held += window * part.chunk_bytes * mine.get(CHUNK, 1) / max(1, before.get(CHUNK, 1))
        return held <= USABLE_BUDGET * self.limits.nbytes


def _clamp(knob: Knob, value: int) -> int:
    return min(knob.maximum, max(knob.minimum, value))


def _increase_workers(workers: int) -> int:
    return max(workers + 1, workers * 3 // 2)


def _double(value: int, minimum: int) -> int:
    return 2 * max(value, minimum)


def _load(part: StageMeasurement, seen: Measurement) -> float:
    """Load: share of the time that the workers of a stage were busy."""
    return part.busy / seen.seconds / max(1, part.workers) if seen.seconds > 0 else 0.0

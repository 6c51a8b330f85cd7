"""Performance model of a pipeline: cost per row in each part, and predicted throughput after a change.

A part is a unit that works concurrently: the workers of a segment, the thread of a barrier, the consumer's thread. A
row needs processor time and waiting time in each part. The throughput is limited by the slowest part, and by the total
processor time on the cores or under the GIL. A change is another set of parts; both are computed in
the same way, and the error of the model on the measured run is assumed to be the same after the change.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from millrace._src.core.statistics import RunSnapshot, RunStats, StageSnapshot, StageStats

__all__ = ["PerformanceModel", "StageCost", "window_of"]

# If a process uses about one core while several of its threads are busy, its threads compete for the GIL.
TURNS = (0.75, 1.3)
# Cores count as saturated from this share on.
FULL = 0.85
# Less waiting than this share of the busy time is the noise of a shared machine.
NOISE = 0.15
# On saturated cores a thread may wait this many times as long as it computes, and longer with other programs on them;
# the rest is waiting for something else.
CROWD, EXTERNAL_CROWD = 3, 20
# Other programs are considered if they use this many of the cores.
EXTERNAL_LOAD = 0.3
# The memory budget is the limit if it delayed this share of the chunks.
SQUEEZED = 0.3


@dataclasses.dataclass(frozen=True)
class StageCost:
    """Seconds are per row delivered. ``stage`` is its number in the run, -1 for the consumer."""

    stage: int
    role: str  # segment, thread, consumer
    workers: float
    cpu: float
    # waiting for something that is not a core and not the GIL
    block: float = 0.0
    # processor time that holds this process's GIL
    gil: float = 0.0
    # time in which only one worker can run
    serial: float = 0.0
    # processor time per chunk, and per returned batch, independent of the number of rows; both are included in cpu
    per_chunk: float = 0.0
    per_batch: float = 0.0

    @property
    def seconds(self) -> float:
        return self.cpu + self.block

    @property
    def rate(self) -> float:
        """Rows per second without other limits."""
        alone = self.workers / self.seconds if self.seconds > 0 else float("inf")
        return min(alone, 1 / self.serial) if self.serial > 0 else alone

    def replace(self, **changes: float) -> StageCost:
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class PerformanceModel:
    """The parts of one run. ``measured`` is its measured rate."""

    parts: tuple[StageCost, ...]
    cores: int
    measured: float
    sums: RunSnapshot
    # the memory budget left workers without work
    memory_limited: bool = False
    # the number of cores used by this run, and by other programs
    used: float = 0.0
    external_cores: float = 0.0
    # all cores were in use, by this process or by others
    cores_saturated: bool = False
    # threads of this process competed for the GIL
    gil_contention: bool = False

    @property
    def seconds(self) -> float:
        """Duration of the measurement."""
        return self.sums.consumer_wait + self.sums.consumer_busy

    @property
    def taken(self) -> bool:
        """Whether other programs use the cores, so that computing parts wait for a core."""
        return self.cores_saturated and self.external_cores > EXTERNAL_LOAD

    @property
    def cpu(self) -> float:
        return sum(part.cpu for part in self.parts)

    @property
    def gil(self) -> float:
        return sum(part.gil for part in self.parts)

    def bounds(self) -> Iterator[tuple[str, float]]:
        """(resource, maximum rows per second): each part, the cores, the GIL."""
        for part in self.parts:
            yield str(part.stage), part.rate
        # a run that mostly waits gets its share of busy cores when it wakes up; other runs do not get more
        left = max(self.used, self.cores / 2 if self.taken else self.cores - self.external_cores)
        yield "cores", left / self.cpu if self.cpu > 0 else float("inf")
        yield "gil", 1 / self.gil if self.gil > 0 else float("inf")

    @property
    def rate(self) -> float:
        return min(rate for _, rate in self.bounds())

    @property
    def limit(self) -> str:
        return min(self.bounds(), key=lambda bound: bound[1])[0]

    def part(self, stage: int) -> StageCost | None:
        return next((part for part in self.parts if part.stage == stage), None)

    def with_parts(self, *changed: StageCost) -> PerformanceModel:
        """The model with parts replaced by stage; new ones are added."""
        new = {part.stage: part for part in changed}
        kept = [new.pop(part.stage, part) for part in self.parts]
        return dataclasses.replace(self, parts=(*kept, *new.values()))

    def predict(self, after: PerformanceModel, *, same_loss: bool = True) -> float:
        """Rows per second after a change. The error of the model is assumed to stay, unless ``same_loss`` is False."""
        shared = same_loss or self.external_cores > NOISE * self.cores
        loss = min(1.0, max(0.5, self.measured / self.rate)) if shared and self.rate else 1.0
        return max(self.measured, after.rate * loss)

    @classmethod
    def of(cls, run: RunStats, cores: int) -> PerformanceModel | None:
        """Create the model from the counters of a run; None if nothing was delivered."""
        sums = window_of(run)
        seconds = sums.consumer_wait + sums.consumer_busy
        if sums.rows <= 0 or seconds <= 0:
            return None
        outside = sum(s.cpu for stage, s in _pairs(run, sums) if stage.outside)
        inside = sums.process_cpu / seconds
        used = (sums.process_cpu + outside) / seconds
        external_cores = max(0.0, cores - used - sums.idle / seconds)
        full = used > FULL * cores or sums.idle / seconds < (1 - FULL) * cores
        crowd = 0 if not full else EXTERNAL_CROWD if external_cores > EXTERNAL_LOAD else CROWD
        turns = TURNS[0] < inside < TURNS[1]
        squeezed = any(s.refused > SQUEEZED * max(1, s.chunks) for s in sums.stages)
        parallel = inside >= TURNS[1]
        make = _Parts(run, sums, seconds, crowd=crowd, turns=turns, parallel=parallel, squeezed=squeezed)
        return cls(
            tuple(make.all()),
            cores,
            sums.rows / seconds,
            sums,
            memory_limited=squeezed,
            used=used,
            external_cores=external_cores,
            cores_saturated=full,
            gil_contention=turns,
        )


def window_of(run: RunStats) -> RunSnapshot:
    """The counters after the first batch; all counters if most rows came before."""
    everything = RunSnapshot.of(run)
    if run.mark is None:
        return everything
    steady = everything - run.mark
    return steady if steady.rows * 2 >= everything.rows else everything


def _pairs(run: RunStats, sums: RunSnapshot) -> Iterator[tuple[StageStats, StageSnapshot]]:
    return zip(run.stages, sums.stages, strict=True)


class _Parts:
    """Computes the parts of a run; one method per role."""

    def __init__(
        self,
        run: RunStats,
        sums: RunSnapshot,
        seconds: float,
        *,
        crowd: int,
        turns: bool,
        parallel: bool,
        squeezed: bool,
    ) -> None:
        self.run, self.sums, self.seconds = run, sums, seconds
        self.crowd, self.turns, self.parallel, self.squeezed = crowd, turns, parallel, squeezed
        self.rows = sums.rows

    def all(self) -> Iterator[StageCost]:
        streams: list[StageSnapshot] = []
        for number, (stage, sums) in enumerate(_pairs(self.run, self.sums)):
            if stage.stage_type == "stream":
                streams.append(sums)
            elif stage.ops and stage.background:
                yield self._segment(number, stage, sums)
            if sums.dispatch_cpu > 0:
                yield self._thread(number, sums, streams)
                streams = []
        yield self._consumer()

    def _waiting(self, busy: float, cpu: float, *, rivals: int) -> float:
        """Seconds of waiting for a disk, a lock or a sleep, without waiting for cores or for the GIL."""
        explained = max(self.crowd, rivals if self.turns else 0) * cpu
        waited = busy - cpu - explained
        return waited if waited > NOISE * busy else 0.0

    def _segment(self, number: int, stage: StageStats, sums: StageSnapshot) -> StageCost:
        threads = stage.shares_gil
        python = sum(cpu for op, (_, _, cpu) in zip(stage.ops, sums.ops, strict=True) if op.python)
        rivals = stage.working + 1 if threads and python > 0.5 * sums.cpu else 0
        block = self._waiting(sums.busy, sums.cpu, rivals=rivals)
        workers: float = stage.working
        if self.squeezed:
            workers = min(workers, max(1.0, sums.busy / self.seconds))
        serial = 0.0
        if threads and stage.ops[0].serial:
            # it includes waiting for the lock, but the total cannot exceed the duration of the run
            serial = min(sums.ops[0][1], self.seconds) / self.rows
        return StageCost(
            number,
            "segment",
            workers,
            cpu=sums.cpu / self.rows,
            block=block / self.rows,
            gil=python / self.rows if threads and not self.parallel else 0.0,
            serial=serial,
        )

    def _thread(self, number: int, sums: StageSnapshot, streams: list[StageSnapshot]) -> StageCost:
        cpu = sums.dispatch_cpu
        inner = sum(s.cpu for s in streams)
        block = self._waiting(sum(s.busy for s in streams), inner, rivals=2)
        return StageCost(
            number,
            "thread",
            1,
            cpu=cpu / self.rows,
            block=block / self.rows,
            gil=cpu / self.rows,
            per_chunk=max(0.0, cpu - inner) / self.rows,
        )

    def _consumer(self) -> StageCost:
        sums = self.sums
        cpu = sums.consumer_cpu + sums.pull_cpu
        block = self._waiting(sums.consumer_busy, sums.consumer_cpu, rivals=2)
        handed = sums.hand_out / sums.hand_outs * sums.delivered if sums.hand_outs else 0.0
        handed = min(handed, sums.consumer_cpu)
        ours = sums.pull_cpu + handed
        return StageCost(
            -1,
            "consumer",
            1,
            cpu=cpu / self.rows,
            block=block / self.rows,
            gil=(ours if self.parallel else cpu) / self.rows,
            per_chunk=sums.pull_cpu / self.rows,
            per_batch=handed / self.rows,
        )

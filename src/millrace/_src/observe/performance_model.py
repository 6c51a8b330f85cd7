"""What a row costs in each part of a running pipeline, and how fast rows could come after a change.

A part is whatever works on its own: the workers of a segment, the thread of a barrier, the consumer's thread. A row
uses each for some processor time and some waiting. Rows come as fast as the slowest part lets them, and no faster
than the cores, or the one GIL, can serve all parts together. A change is another set of parts; both are computed in
the same way, and what the model misses on the run that was measured is taken to be missed after the change too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from millrace._src.core.statistics import RunSnapshot, RunStats, StageSnapshot, StageStats

__all__ = ["PerformanceModel", "StageCost", "window_of"]

# A process that uses about one core while several of its threads are busy takes turns at the GIL.
TURNS = (0.75, 1.3)
# Cores count as full from this share on: nothing ever fills them to the last percent.
FULL = 0.85
# Less waiting than this share of the busy time is the noise of a shared machine.
NOISE = 0.15
# On full cores a thread may wait this many times as long as it computes, and longer where other programs fill them;
# the rest is waiting for something else.
CROWD, EXTERNAL_CROWD = 3, 20
# Other programs count when they take this many of the cores.
EXTERNAL_LOAD = 0.3
# The budget decides when it held back this share of the chunks.
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
    # time in which only one worker can be
    serial: float = 0.0
    # processor time that goes with each chunk, or with each batch handed out, however many rows are in it;
    # both are contained in cpu
    per_chunk: float = 0.0
    per_batch: float = 0.0

    @property
    def seconds(self) -> float:
        return self.cpu + self.block

    @property
    def rate(self) -> float:
        """Rows per second if nothing else held it back."""
        alone = self.workers / self.seconds if self.seconds > 0 else float("inf")
        return min(alone, 1 / self.serial) if self.serial > 0 else alone

    def replace(self, **changes: float) -> StageCost:
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclasses.dataclass(frozen=True)
class PerformanceModel:
    """The parts of one run. ``measured`` is the rate it really had."""

    parts: tuple[StageCost, ...]
    cores: int
    measured: float
    sums: RunSnapshot
    # the byte budget kept workers without work
    memory_limited: bool = False
    # cores that this run used, and that other programs took of those it might have used
    used: float = 0.0
    external_cores: float = 0.0
    # cores were all in use, by this process or by others
    cores_saturated: bool = False
    # threads of this process took turns at the GIL
    gil_contention: bool = False

    @property
    def seconds(self) -> float:
        """How long what was measured took."""
        return self.sums.consumer_wait + self.sums.consumer_busy

    @property
    def taken(self) -> bool:
        """Other programs fill the cores: whatever computes here only waits for its turn."""
        return self.cores_saturated and self.external_cores > EXTERNAL_LOAD

    @property
    def cpu(self) -> float:
        return sum(part.cpu for part in self.parts)

    @property
    def gil(self) -> float:
        return sum(part.gil for part in self.parts)

    def bounds(self) -> Iterator[tuple[str, float]]:
        """(what, rows per second it allows): each part, the cores, the GIL."""
        for part in self.parts:
            yield str(part.stage), part.rate
        # a run that mostly waits gets its share of taken cores when it wakes up; nobody else may hope for one
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
        """The same with these parts in place of those of the same stage; new ones are added."""
        new = {part.stage: part for part in changed}
        kept = [new.pop(part.stage, part) for part in self.parts]
        return dataclasses.replace(self, parts=(*kept, *new.values()))

    def predict(self, after: PerformanceModel, *, same_loss: bool = True) -> float:
        """Rows per second after a change. What the model misses now it misses then, unless the change cures that."""
        shared = same_loss or self.external_cores > NOISE * self.cores
        loss = min(1.0, max(0.5, self.measured / self.rate)) if shared and self.rate else 1.0
        return max(self.measured, after.rate * loss)

    @classmethod
    def of(cls, run: RunStats, cores: int) -> PerformanceModel | None:
        """From the counters alone; None where nothing was delivered."""
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
    """What happened after the first batch; everything where that was most of it."""
    everything = RunSnapshot.of(run)
    if run.mark is None:
        return everything
    steady = everything - run.mark
    return steady if steady.rows * 2 >= everything.rows else everything


def _pairs(run: RunStats, sums: RunSnapshot) -> Iterator[tuple[StageStats, StageSnapshot]]:
    return zip(run.stages, sums.stages, strict=True)


class _Parts:
    """Makes the parts of a run; one method per role."""

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
        """Seconds of waiting for a disk, a lock or a sleep, after what the cores, or rivals for the GIL, explain."""
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
            # waiting for one's turn is in it; but all turns together cannot take longer than the run
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

"""Run statistics: counters of each stage, updated once per chunk. Reports, dashboards and autotune read them.

Wall time and processor time are both counted, which distinguishes work, waiting for a disk and waiting for the GIL.
``RunSnapshot`` is a copy of all counters at one moment; the difference of two covers the time between them.
"""

from __future__ import annotations

import dataclasses
import math
import threading
import time
from collections import deque
from typing import Any

from .executor_traits import EXECUTORS
from .machine.idle_time import idle_seconds
from .tuned import AutotuneRecord

__all__ = ["CacheCounts", "OpStats", "RunStats", "StageStats", "StageSnapshot", "RunSnapshot"]


@dataclasses.dataclass
class OpStats:
    """One op inside a segment."""

    name: str
    where: str = ""
    # the label of the plan node: Map, Batch ... or Read
    node_type: str = ""
    # it runs the user's Python, which may hold the GIL
    python: bool = False
    # only one worker at a time may run it: a source with one read position, a stateful transform
    serial: bool = False
    # the user's settings: workers for it (or for every op), and worker processes
    requested_workers: int | None = None
    processes: bool = False
    # rows into its segment, and rows out of this op
    rows: int = 0
    kept: int = 0
    busy: float = 0.0
    cpu: float = 0.0


@dataclasses.dataclass(frozen=True)
class CacheCounts:
    """Cache statistics: hits, computed and stored rows, and the seconds saved.

    >>> CacheCounts(hits=2) + CacheCounts(hits=1, reason="full")
    CacheCounts(hits=3, misses=0, stored=0, bytes=0, on_disk=0, saved=0.0, reason='full')
    """

    hits: int = 0
    misses: int = 0
    stored: int = 0
    # bytes of the stored rows
    bytes: int = 0
    # of these, bytes on disk
    on_disk: int = 0
    # seconds of computing that hits have saved
    saved: float = 0.0
    # why rows were not stored
    reason: str = ""

    def __add__(self, added: CacheCounts) -> CacheCounts:
        return CacheCounts(
            self.hits + added.hits,
            self.misses + added.misses,
            self.stored + added.stored,
            self.bytes + added.bytes,
            self.on_disk + added.on_disk,
            self.saved + added.saved,
            added.reason or self.reason,
        )


@dataclasses.dataclass
class StageStats:
    """Counters of one stage: its work, its waiting time, and samples of its queue fill level."""

    name: str
    stage_type: str
    where: str = ""
    workers: int = 1
    # threads that take work: fewer than `workers` where they would only compete for the GIL
    working: int = 1
    window: int = 1
    # rows per chunk where a setting fixes them; None where the engine chooses
    fixed_rows: int | None = None
    # a setting fixed its executor, overriding the arguments of its ops
    fixed_executor: bool = False
    # its input is rows and its output batches; batch_size where that is a number
    batches: bool = False
    batch_size: int | None = None
    # rows that a shuffle buffers before the first output
    buffer: int | None = None
    rows: int = 0
    chunks: int = 0
    bytes: int = 0
    busy: float = 0.0
    cpu: float = 0.0
    # processor seconds of the thread that runs this stage, and those below it, ahead of the consumer
    dispatch_cpu: float = 0.0
    wait_in: float = 0.0
    wait_out: float = 0.0
    # pulls at which the byte budget did not allow another chunk
    refused: int = 0
    # bytes of rows that were spilled to disk for lack of memory
    spilled: int = 0
    # rows from each input of a mix
    sampled: list[int] = dataclasses.field(default_factory=list)
    # the statistics of a cache in it
    cache: CacheCounts | None = None
    ops: list[OpStats] = dataclasses.field(default_factory=list)
    fill: deque[float] = dataclasses.field(default_factory=lambda: deque(maxlen=64))

    @property
    def outside(self) -> bool:
        """Its workers are not in the user's process."""
        return self.stage_type in EXECUTORS and not EXECUTORS[self.stage_type].same_process

    @property
    def shares_gil(self) -> bool:
        """Its workers are threads of the user's process."""
        return self.stage_type in EXECUTORS and EXECUTORS[self.stage_type].shares_gil

    @property
    def background(self) -> bool:
        """It has workers; False where the caller does the work."""
        return self.stage_type in EXECUTORS and EXECUTORS[self.stage_type].background

    @property
    def mean_fill(self) -> float:
        fill = list(self.fill)
        return sum(fill) / len(fill) if fill else 0.0

    @property
    def last_fill(self) -> float:
        try:
            return self.fill[-1]
        except IndexError:
            return 0.0

    @property
    def rows_in(self) -> int:
        return self.ops[0].rows if self.ops else self.rows

    @property
    def num_outputs(self) -> int:
        """Number of outputs: rows or batches. A barrier that makes batches counts them as chunks."""
        return self.count_outputs(self)

    def count_outputs(self, counted: StageStats | StageSnapshot) -> int:
        """The number of outputs in a snapshot or a difference of snapshots of this stage."""
        return counted.chunks if self.batches and not self.ops else counted.rows


class RunStats:
    """Statistics of one run: all stages, sources first, and the consumer."""

    def __init__(self) -> None:
        self.stages: list[StageStats] = []
        self.started = time.perf_counter()
        self.first_batch: float | None = None
        self.ended: float | None = None
        self.delivered = 0
        # completed epochs
        self.epochs = 0
        # seconds that the consumer waited for the pipeline, and that it spent between two calls
        self.consumer_wait = 0.0
        self.consumer_busy = 0.0
        # processor seconds of the consumer's thread, inside calls of the pipeline and between them
        self.pull_cpu = 0.0
        self.consumer_cpu = 0.0
        # seconds to deliver the first row of a chunk, and the number of measurements
        self.hand_out = 0.0
        self.hand_outs = 0
        self.last_return: float | None = None
        # snapshot after the first batch, and again after all chunks that were in flight with it: the time before is
        # start-up
        self.mark: RunSnapshot | None = None
        # the record of autotune, where it is on
        self.tuning: AutotuneRecord | None = None
        self._pulls = 0
        self._settled = 0
        self._process_cpu = time.process_time()
        self._idle = idle_seconds()
        self._at_end: tuple[float, float] | None = None
        self._thread: int | None = None
        self._cpu = 0.0
        # the current row is the first of its chunk; only those are timed
        self.fresh = False

    @property
    def elapsed(self) -> float:
        return (self.ended or time.perf_counter()) - self.started

    @property
    def process_cpu(self) -> float:
        """Processor seconds of this process since the run began, without worker processes."""
        return time.process_time() - self._process_cpu if self._at_end is None else self._at_end[0]

    @property
    def idle(self) -> float:
        """Idle core seconds of the machine since the run began; infinite where unknown."""
        if self._at_end is not None:
            return self._at_end[1]
        now = idle_seconds()
        return math.inf if now is None or self._idle is None else now - self._idle

    @property
    def rows(self) -> int:
        """Number of delivered rows: batches times the mean rows per batch, where there are batches."""
        makers = [stage for stage in self.stages if stage.batches]
        if makers and self.stages[-1].batches:
            makers = makers[-1:]  # else they are branches that a later stage joins
        num_outputs = sum(stage.num_outputs for stage in makers)
        if not num_outputs:
            return self.delivered if not makers else 0
        return round(self.delivered * sum(stage.rows_in for stage in makers) / num_outputs)

    def add(self, stats: StageStats) -> StageStats:
        self.stages.append(stats)
        return stats

    # the consumer's thread -----------------------------------------------------------------------

    def enter(self) -> float:
        """Record that the consumer requests data; return the time."""
        now, cpu, thread = time.perf_counter(), time.thread_time(), threading.get_ident()
        if self.last_return is not None:
            self.consumer_busy += now - self.last_return
            if thread == self._thread:
                self.consumer_cpu += cpu - self._cpu
        self._cpu, self._thread = cpu, thread
        return now

    def leave(self, *, fresh: bool) -> None:
        """Record that the consumer receives the first row of a fresh chunk, or a signal."""
        cpu = time.thread_time()
        self.pull_cpu += cpu - self._cpu
        self._cpu = cpu
        self.fresh = fresh
        self.last_return = time.perf_counter()
        if fresh:
            self._pulls += 1
            if self._pulls == self._settled:
                self.mark = RunSnapshot.of(self)

    def record_delivery(self) -> None:
        self.fresh = False
        if self.last_return is not None:
            self.hand_out += time.perf_counter() - self.last_return
            self.hand_outs += 1

    def first(self, now: float) -> None:
        self.first_batch = now - self.started
        self.mark = RunSnapshot.of(self)
        self._settled = 2 + sum(stage.window for stage in self.stages if stage.ops)

    def end(self) -> None:
        self._at_end = self.process_cpu, self.idle
        self.ended = time.perf_counter()


@dataclasses.dataclass(frozen=True)
class StageSnapshot:
    """The counters of one stage at one moment; ``ops`` as (rows, busy, cpu)."""

    rows_in: int
    rows: int
    chunks: int
    bytes: int
    busy: float
    cpu: float
    dispatch_cpu: float
    wait_in: float
    wait_out: float
    refused: int
    ops: tuple[tuple[int, float, float], ...]

    def __sub__(self, before: StageSnapshot) -> StageSnapshot:
        ops = tuple(
            (a[0] - b[0], a[1] - b[1], a[2] - b[2]) for a, b in zip(self.ops, before.ops, strict=True)
        )
        return StageSnapshot(**_subtract_counters(self, before), ops=ops)


@dataclasses.dataclass(frozen=True)
class RunSnapshot:
    """All counters of a run at one moment."""

    at: float
    delivered: int
    rows: int
    consumer_wait: float
    consumer_busy: float
    consumer_cpu: float
    pull_cpu: float
    hand_out: float
    hand_outs: int
    process_cpu: float
    # core seconds of the whole machine without work
    idle: float
    stages: tuple[StageSnapshot, ...]

    @classmethod
    def of(cls, run: RunStats) -> RunSnapshot:
        stages = tuple(
            StageSnapshot(
                **{name: getattr(stage, name) for name in _STAGE},
                ops=tuple((op.rows, op.busy, op.cpu) for op in stage.ops),
            )
            for stage in run.stages
        )
        return cls(at=run.elapsed, **{name: getattr(run, name) for name in _RUN}, stages=stages)

    def __sub__(self, before: RunSnapshot) -> RunSnapshot:
        stages = tuple(a - b for a, b in zip(self.stages, before.stages, strict=True))
        return RunSnapshot(**_subtract_counters(self, before), stages=stages)


_STAGE = [field.name for field in dataclasses.fields(StageSnapshot) if field.name != "ops"]
_RUN = [field.name for field in dataclasses.fields(RunSnapshot) if field.name not in ("at", "stages")]


def _subtract_counters(
    now: StageSnapshot | RunSnapshot, before: StageSnapshot | RunSnapshot
) -> dict[str, Any]:
    names = _STAGE if isinstance(now, StageSnapshot) else ["at", *_RUN]
    differences = {name: getattr(now, name) - getattr(before, name) for name in names}
    if "idle" in differences and math.isnan(differences["idle"]):  # unknown stays unknown
        differences["idle"] = math.inf
    return differences

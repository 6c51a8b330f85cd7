"""lower: from plan nodes to stages. One function per kind of node; nothing here runs a row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from millrace.core.errors import PlanError
from millrace.core.ledger import Ledger
from millrace.core.log import get_logger, warn_once
from millrace.core.rng import mix
from millrace.core.settings import Settings
from millrace.core.stats import OpStats, RunStats, StageStats
from millrace.data.plan import ops, physical
from millrace.data.plan.bind import Plan, bind, optimise
from millrace.data.plan.explain import describe
from millrace.data.plan.node import Node
from millrace.data.plan.passes.spread import wish_of
from millrace.data.transforms.base import is_ordered

from .budget import Bytes
from .executors.base import Executor
from .executors.inline import InlineExecutor
from .executors.threads import ThreadExecutor
from .segment.mapping import MapStep
from .segment.runner import SegmentRunner
from .stages.base import Stage
from .stages.bucket import BucketStage, CollateStep, MeasureStep
from .stages.callbacks import CallbackStage
from .stages.count import DealStage, RepeatStage, SkipStage, TakeStage
from .stages.flat import FlatMapStage, OpenStep
from .stages.gate import GateStage, gates
from .stages.indices import BatchIndexStage, IndexStage
from .stages.mend import Mender, Policy
from .stages.pump import Pump
from .stages.regroup import RegroupStage
from .stages.segment import SegmentStage
from .stages.several import ConcatStage, ZipStage
from .stages.step import Step, StepStage
from .stages.stream import StreamStage
from .stages.window import WindowShuffleStage

__all__ = ["Lowering"]

log = get_logger(__name__)

STREAM_ROWS = 64


@dataclasses.dataclass
class Lowering:
    """Everything stages share while they are built."""

    plan: Plan
    budget: Bytes
    stats: RunStats
    ledger: Ledger
    wait: Callable[..., None]

    def root(self, epochs: int | None) -> Stage:
        stage = self.build(self.plan.root, epochs)
        return stage if isinstance(stage, SegmentStage) else self._pumped(stage)

    @property
    def _inline(self) -> bool:
        return self.plan.settings.debug_mode or self.plan.settings.executor == "inline"

    def _pumped(self, stage: Stage) -> Stage:
        """Barriers run ahead in a thread of their own; in-line runs stay in the caller's."""
        if self._inline or isinstance(stage, SegmentStage):
            return stage
        depth = max(2, self.plan.settings.prefetch_size)
        return Pump(stage, depth, self.budget, self.wait, name=stage.stats.name)

    def _stats(self, node: Node, kind: str = "barrier", **more: Any) -> StageStats:
        return self.stats.add(StageStats(name=describe(node), kind=kind, where=node.where, **more))

    def build(self, node: Node, epochs: int | None) -> Stage:
        settings, seed = self.plan.settings, self.plan.seed
        if isinstance(node, physical.Segment):
            return self._segment(node, epochs)
        if isinstance(node, ops.Read):
            rows = settings.chunk_rows or (1 if settings.debug_mode else STREAM_ROWS)
            return StreamStage(node, epochs, self._stats(node, "stream"), rows)
        if isinstance(node, ops.Repeat):
            below = None if node.count is None or epochs is None else epochs * node.count
            up = self.build(node.inputs[0], below)
            return RepeatStage(up, self._stats(node), node.count, epochs)
        ups = [self.build(child, epochs) for child in node.inputs]
        stats = self._stats(node)
        if isinstance(node, ops.Concat):
            return ConcatStage(ups, stats)
        if isinstance(node, ops.Zip):
            return ZipStage(ups, stats)
        up = ups[0]
        if isinstance(node, physical.Regroup):
            return RegroupStage(up, stats, node.batch_size, node.drop_remainder, node.passes, describe(node))
        if isinstance(node, ops.Shuffle):
            stats.buffer = node.buffer_size
            return WindowShuffleStage(up, stats, node.buffer_size, seed, node.op, node.key, self.budget)
        if isinstance(node, ops.Take):
            return TakeStage(up, stats, node.count)
        if isinstance(node, ops.Skip):
            return SkipStage(up, stats, node.count)
        if isinstance(node, ops.Deal):
            return DealStage(up, stats, node.shards, node.shard, node.even)
        if isinstance(node, ops.BucketBatch):
            stats.batches = True
            measured = self._step(up, stats, MeasureStep(node), node, whole=True)
            return self._step(BucketStage(measured, stats, node), stats, CollateStep(node), node)
        if isinstance(node, ops.FlatMap):
            datasets = self._step(up, stats, OpenStep(node), node)
            return FlatMapStage(datasets, stats, lambda inner: self._inner(inner, node.op))
        if isinstance(node, ops.SyncWait):
            gate = gates.get(node.token)
            if gate is None:
                raise PlanError(
                    f"sync_wait({node.condition_name!r}): the dataset that made this gate is gone"
                )
            return GateStage(up, stats, gate, node.batch_rows, settings.callback_timeout)
        if isinstance(node, ops.Map):  # with callbacks; others are inside segments by now
            hooks = settings.debug_hooks if settings.debug_mode else ()
            step = MapStep(node, seed, hooks)
            return CallbackStage(up, stats, step, self._mender(node, up), node.callbacks, node.passes)
        raise PlanError(f"no stage for {node.label}")

    def _step(self, up: Stage, stats: StageStats, step: Step, node: Node, *, whole: bool = False) -> Stage:
        return StepStage(up, stats, step, self._mender(node, up), whole=whole)

    def _mender(self, node: Node, up: Stage) -> Mender:
        settings = self.plan.settings
        policy = Policy(settings.error_samples_mode, settings.error_samples_limit, self.ledger)
        return Mender(policy, describe(node), _where(node), up.state())

    def _segment(self, node: physical.Segment, epochs: int | None) -> Stage:
        up: Stage
        first = node.ops[0]
        if isinstance(first, ops.Read) and first.batch_sampler is not None:
            up = BatchIndexStage(first, epochs, StageStats("indices", "indices"))
        elif isinstance(first, ops.Read):
            rows = node.rows if node.fixed else min(node.rows, max(node.unit, 8 // node.unit * node.unit))
            indices = StageStats("indices", "indices")
            up = IndexStage(first, self.plan.seed, epochs, indices, rows, node.batch_rows)
        else:
            up = self._pumped(self.build(node.inputs[0], epochs))
        stats = self._stats(node, node.executor, workers=node.workers, window=node.window)
        stats.ops = [_op_stats(op, self.plan.settings) for op in node.ops]
        batch = next((op for op in node.ops if isinstance(op, ops.Batch)), None)
        stats.batches = batch is not None
        if batch is not None and isinstance(batch.batch_size, int):
            stats.batch_size = batch.batch_size
        stats.fixed_executor = self.plan.settings.executor is not None
        stats.fixed_rows = node.rows if node.fixed else None
        runner = SegmentRunner(node.ops, self.plan.seed, self.plan.settings)
        executor = self._executor(node, runner)
        stats.kind, stats.workers, stats.working = executor.kind, executor.slots, executor.slots
        return SegmentStage(node, up, executor, self.budget, stats, self.wait, self._mender(node, up))

    def _executor(self, node: physical.Segment, runner: SegmentRunner) -> Executor:
        name = f"millrace-{node.ops[-1].label.lower()}"
        if node.executor == "inline":
            return InlineExecutor(runner)
        if node.executor == "processes":
            from .executors.processes import ProcessExecutor

            try:
                method = self.plan.settings.multiprocessing_start_method
                made = ProcessExecutor(runner, node.workers, start_method=method, name=name)
                log.info(
                    "%d worker processes; OpenCV, BLAS, OpenMP and numba -> 1 thread in each", made.slots
                )
                return made
            except PlanError as error:
                warn_once(
                    f"threads-instead-{node.where}",
                    f"{error}\nRunning on threads instead; the rows are the same.",
                )
        return ThreadExecutor(runner, node.workers, name=name)

    def _inner(self, node: Node, op: int) -> Stage:
        """A dataset made inside flat_map: its own plan, run in the calling thread, for one epoch."""
        settings = self.plan.settings.replace(executor="inline")
        plan = optimise(bind(node, settings, seed=mix(self.plan.seed, op) & 0xFFFFFFFF))
        inner = Lowering(plan, self.budget, RunStats(), self.ledger, self.wait)
        return inner.build(plan.root, 1)


def _op_stats(op: Node, settings: Settings) -> OpStats:
    serial = (isinstance(op, ops.Read) and op.source.exclusive) or (
        isinstance(op, ops.Map) and any(is_ordered(operation) for operation in op.operations)
    )
    asked = getattr(op, "workers", None)
    return OpStats(
        describe(op),
        op.where,
        kind=type(op).__name__,
        python=wish_of(op) != "any",
        serial=serial,
        asked=settings.num_parallel_workers if asked is None else asked,
        processes=wish_of(op) == "processes",
    )


def _where(node: Node) -> Callable[[int], str | None] | None:
    """How to name the file of a row: the one source below, when there is only one."""
    sources = list(_reads(node))
    return sources[0].source.where if len(sources) == 1 else None


def _reads(node: Node) -> Iterator[ops.Read]:
    for part in (node, *getattr(node, "ops", ())):
        if isinstance(part, ops.Read):
            yield part
    for child in node.inputs:
        yield from _reads(child)

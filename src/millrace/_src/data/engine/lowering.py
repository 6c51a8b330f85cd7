"""Lowering of plan nodes to executable stages.

One function per node type; no rows are processed here.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from millrace._src.core.errors import PlanError
from millrace._src.core.executor_traits import INLINE, THREADS, executor_traits
from millrace._src.core.log import warn_once
from millrace._src.core.random.rng import hash_integers
from millrace._src.core.settings import Settings
from millrace._src.core.statistics import OpStats, RunStats, StageStats
from millrace._src.data.engine.failed_rows import FailedRowLog
from millrace._src.data.plan.bind import Plan, bind, optimize
from millrace._src.data.plan.explain import describe
from millrace._src.data.plan.node import Node
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.plan.nodes import physical

from .executors import threads as _usual  # noqa: F401  loaded early: nearly every run uses it, and the first batch must not wait for the import
from .executors.base import Executor
from .executors.registry import make_executor
from .segment.runner import SegmentRunner
from .stages.base import Stage, State
from .stages.indices import BatchIndexStage, IndexStage
from .stages.prefetch import PrefetchStage
from .stages.row_error_handler import ErrorPolicy, RowErrorHandler
from .stages.row_provenance import row_locator
from .stages.segment import SegmentStage
from .stages.stage_registry import StageContext, make_stage
from .thread_limits import MemoryBudget

__all__ = ["Lowering"]


@dataclasses.dataclass
class Lowering:
    """Builds the stages of a plan; holds what they share."""

    plan: Plan
    budget: MemoryBudget
    stats: RunStats
    failed_rows: FailedRowLog
    wait: Callable[..., None]
    # stages with queues, whose sizes may be tuned
    segments: list[SegmentStage] = dataclasses.field(default_factory=list)
    prefetch_stages: list[PrefetchStage] = dataclasses.field(default_factory=list)

    def root(self, epochs: int | None) -> Stage:
        stage = self.build(self.plan.root, epochs)
        return stage if isinstance(stage, SegmentStage) else self._with_prefetch(stage)

    @property
    def _inline(self) -> bool:
        settings = self.plan.settings
        return settings.debug_mode or not executor_traits(settings.executor or THREADS).background

    def _with_prefetch(self, stage: Stage) -> Stage:
        """Add a prefetch thread to a barrier stage; inline runs stay in the caller's thread."""
        if self._inline or isinstance(stage, SegmentStage):
            return stage
        depth = max(2, self.plan.settings.prefetch_size)
        prefetch = PrefetchStage(stage, depth, self.budget, self.wait, name=stage.stats.name)
        self.prefetch_stages.append(prefetch)
        return prefetch

    def _stats(self, node: Node, executor: str = "barrier", **fields: Any) -> StageStats:
        return self.stats.add(
            StageStats(name=describe(node), stage_type=executor, where=node.call_site, **fields)
        )

    def build(self, node: Node, epochs: int | None) -> Stage:
        if isinstance(node, physical.Segment):
            return self._segment(node, epochs)
        below = node.input_epochs(epochs)
        upstreams: list[Stage] = []
        first = len(self.stats.stages)
        with _close_on_error(upstreams):
            for child in node.inputs:
                upstreams.append(self.build(child, below))
            upstream_stats = self.stats.stages[first:]
            plan, stats = self.plan, self._stats(node)
            return make_stage(
                StageContext(
                    node=node,
                    upstreams=upstreams,
                    stats=stats,
                    epochs=epochs,
                    seed=plan.seed,
                    settings=plan.settings,
                    budget=self.budget,
                    row_error_handler=lambda start: self._row_error_handler(node, start),
                    upstream_stats=upstream_stats,
                    lower_nested=self._lower_nested,
                )
            )

    def _row_error_handler(self, node: Node, start: State) -> RowErrorHandler:
        settings = self.plan.settings
        policy = ErrorPolicy(settings.error_samples_mode, settings.error_samples_limit, self.failed_rows)
        return RowErrorHandler(policy, describe(node), row_locator(node), start)

    def _segment(self, node: physical.Segment, epochs: int | None) -> Stage:
        upstream: Stage
        first, placement = node.ops[0], node.placement
        if isinstance(first, ops.Read) and not first.random_access:
            upstream = BatchIndexStage(first, epochs, StageStats("indices", "indices"))
        elif isinstance(first, ops.Read):
            # chunks start small and grow once the size of rows is known
            rows = placement.max_rows if placement.fixed_rows else placement.row_multiple
            indices = StageStats("indices", "indices")
            upstream = IndexStage(first, self.plan.seed, epochs, indices, rows, node.batch_rows)
        else:
            upstream = self._with_prefetch(self.build(node.inputs[0], epochs))
        stats = self._stats(
            node, placement.executor, workers=placement.workers, window=placement.max_in_flight
        )
        stats.ops = [_op_stats(op, self.plan.settings) for op in node.ops]
        batch = next((op for op in node.ops if isinstance(op, ops.Batch)), None)
        stats.batches = batch is not None
        if batch is not None and isinstance(batch.batch_size, int):
            stats.batch_size = batch.batch_size
        stats.fixed_executor = self.plan.settings.executor is not None
        stats.fixed_rows = placement.max_rows if placement.fixed_rows else None
        with _close_on_error([upstream]):
            executor = self._executor(node, SegmentRunner(node, self.plan.seed, self.plan.settings))
        executor.workers_requested = any(op.requested_workers is not None for op in stats.ops)
        stats.stage_type, stats.workers, stats.working = (
            executor.name,
            executor.num_workers,
            executor.num_workers,
        )
        stage = SegmentStage(
            node,
            upstream,
            executor,
            self.budget,
            stats,
            self.wait,
            self._row_error_handler(node, upstream.state()),
        )
        self.segments.append(stage)
        return stage

    def _executor(self, node: physical.Segment, runner: SegmentRunner) -> Executor:
        name = f"millrace-{node.ops[-1].label.lower()}"
        try:
            return make_executor(
                node.placement.executor, runner, node.placement.workers, name, self.plan.settings
            )
        except PlanError as error:
            if executor_traits(node.placement.executor).same_process:
                raise
            warn_once(
                f"threads-instead-{node.call_site}",
                f"{error}\nRunning on {THREADS} instead; the rows are the same.",
            )
        return make_executor(THREADS, runner, node.placement.workers, name, self.plan.settings)

    def _lower_nested(self, node: Node, op: int) -> Stage:
        """Lower a dataset created inside flat_map: a separate plan, run in the calling thread, for one epoch."""
        settings = self.plan.settings.replace(executor=INLINE)
        plan = optimize(bind(node, settings, seed=hash_integers(self.plan.seed, op) & 0xFFFFFFFF))
        inner = Lowering(plan, self.budget, RunStats(), self.failed_rows, self.wait)
        return inner.build(plan.root, 1)


@contextlib.contextmanager
def _close_on_error(stages: list[Stage]) -> Iterator[None]:
    """Close these stages if building the next one fails: their workers have already started."""
    try:
        yield
    except BaseException:
        for stage in stages:
            stage.close()
        raise


def _op_stats(op: Node, settings: Settings) -> OpStats:
    serial = op.is_sequential or (isinstance(op, ops.Read) and op.source.max_readers == 1)
    return OpStats(
        describe(op),
        op.call_site,
        node_type=type(op).__name__,
        python=op.user_code,
        serial=serial,
        requested_workers=settings.num_parallel_workers if op.num_workers is None else op.num_workers,
        processes=op.wants_processes,
    )

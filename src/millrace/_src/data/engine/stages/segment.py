"""Parallel segment stage: submits chunks to an executor and returns results in order, with back-pressure.

A queue of tasks in submission order gives order (results leave in the order of their chunks), back-pressure (its length
and the memory budget limit the chunks in flight) and error delivery (an exception is raised at its position).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from millrace._src.core.errors import DataError
from millrace._src.core.log import warn_once
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.adaptive_concurrency import AdaptiveConcurrency
from millrace._src.data.engine.executors.base import Executor, Task
from millrace._src.data.engine.segment.runner import ChunkReport
from millrace._src.data.engine.thread_limits import MemoryBudget
from millrace._src.data.plan.nodes.physical import Segment

from .base import END_OF_DATA, Signal, Stage, StageOutput, State
from .indices import IndexStage
from .row_error_handler import RowErrorHandler

__all__ = ["SegmentStage", "SegmentConfig"]

# Maximum bytes of a chunk, unless one batch is larger; and for chunks passed in memory, a size that stays in the CPU
# cache until it is consumed.
MAX_CHUNK_BYTES = 12 << 20
CACHED_BYTES = 5 << 20
# Seconds for which the first chunk runs alone: workers that contend for the GIL would only delay the first batch.
HEAD_START = 0.01
# Seconds after which all workers are activated if one worker was thought to be enough: it may wait for another one.
STALL_SECONDS = 0.1
# Seconds between two GIL samples while waiting for a chunk.
GIL_SAMPLE_SECONDS = 0.0005
# Computed rows of a cache are also stored, with a fixed cost per chunk: such chunks may take this many times as long.
CACHE_TIME_FACTOR = 2.5
# A row waits for I/O when its CPU time is less than wall time divided by this.
WAIT_FACTOR = 4


class SegmentConfig(NamedTuple):
    """Requested configuration of a segment: workers, minimum number of chunks in flight, and rows per chunk."""

    workers: int
    prefetch_chunks: int
    # 0: chosen so that a chunk takes the target time
    rows: int = 0


class SegmentStage(Stage):
    def __init__(
        self,
        node: Segment,
        upstream: Stage,
        executor: Executor,
        budget: MemoryBudget,
        stats: StageStats,
        wait: Callable[[Task, SegmentStage], None],
        row_error_handler: RowErrorHandler,
    ) -> None:
        self.node, self.upstream, self.executor, self.budget, self.stats = (
            node,
            upstream,
            executor,
            budget,
            stats,
        )
        self._wait, self._row_error_handler = wait, row_error_handler
        self._pending: deque[tuple[Task | Signal, State, int]] = deque()
        # upstream state after the last delivered chunk
        self._upstream_state = upstream.state()
        # expected bytes of a chunk while it is processed and queued: the largest seen so far
        self._expected_bytes = 0
        # the error to raise after the rows delivered last
        self._failed: DataError | None = None
        self._reads_indices = isinstance(upstream, IndexStage)
        self._target = executor.traits.target_seconds * (CACHE_TIME_FACTOR if node.cost_varies else 1)
        # decoding and similar native code releases the GIL: there every thread helps
        native = node.is_expensive and not any(op.python for op in stats.ops)
        rivals = executor.traits.shares_gil and not native
        # Millrace transforms that hold the GIL never run in parallel: no trial is needed
        bound = rivals and node.holds_gil and not node.is_expensive
        # native transforms only copy memory: a free GIL then does not show whether memory bandwidth is free
        looks = any(op.python for op in stats.ops)
        self._concurrency = AdaptiveConcurrency(
            executor.num_workers if rivals else 1, self._set_active_workers, bound, looks
        )
        # the first chunk runs before others are submitted
        self._first_chunk_only = rivals
        self._most_bytes = CACHED_BYTES if rivals else executor.max_chunk_bytes or MAX_CHUNK_BYTES
        self._budget_refused = False
        # the task that the pulling thread waits for
        self._awaited_task: Task | None = None
        # chunks in flight, and chunks per worker
        self.max_in_flight = node.placement.max_in_flight
        self._chunks_per_worker = 1 if executor.traits.same_process or node.is_expensive else 2
        # rows per chunk set by autotune; None: chosen so that a chunk takes the target time
        self._rows: int | None = None
        # configuration to apply before the next chunk
        self._pending_config: SegmentConfig | None = None

    def retune(self, config: SegmentConfig) -> None:
        """Change the configuration from the next chunk on; safe from any thread. Rows do not depend on it."""
        self._pending_config = config

    def _apply_config(self, wish: SegmentConfig) -> None:
        """Apply a configuration in the pulling thread, the only one that uses the executor."""
        self._pending_config = None
        self._concurrency.freeze()
        if wish.workers != self.stats.working or wish.workers != self.executor.num_workers:
            self._set_active_workers(self.executor.resize(wish.workers))
        self.stats.workers = self.executor.num_workers
        self.max_in_flight = self.stats.window = max(
            self.stats.working * self._chunks_per_worker + 1, wish.prefetch_chunks
        )
        unit = self.node.placement.row_multiple
        self._rows = max(unit, wish.rows - wish.rows % unit) if wish.rows else None

    @property
    def has_pending_config(self) -> bool:
        """Whether a configuration was requested and is not applied yet."""
        return self._pending_config is not None

    @property
    def chunk_rows(self) -> int:
        """Current rows per chunk; 0 if fixed."""
        return (
            self.upstream.rows
            if isinstance(self.upstream, IndexStage) and not self.node.placement.fixed_rows
            else 0
        )

    def pull(self) -> StageOutput:
        while True:
            self.raise_if_interrupted()
            if self._row_error_handler.ready:
                return self._row_error_handler.next()
            if self._failed is not None:
                raise self._failed
            if self._pending_config is not None:
                self._apply_config(self._pending_config)
            self._budget_refused = False
            self._submit_chunks()
            self.stats.refused += self._budget_refused
            self.stats.fill.append(len(self._pending) / self.max_in_flight)
            item, state, reserved = self._pending.popleft()
            if isinstance(item, Signal):
                if item is END_OF_DATA:
                    self._pending.append((END_OF_DATA, state, 0))
                else:
                    self._row_error_handler.end(state)
                self._upstream_state = state
                return item
            waited = not item.done()
            if waited:
                began = time.perf_counter()
                self._awaited_task = item
                try:
                    self.raise_if_interrupted()
                    if self._first_chunk_only and not item.wait(HEAD_START):
                        self._start_remaining(item, state, reserved)
                    self._sample_gil(item)
                    if self._concurrency.is_single_worker and not item.wait(STALL_SECONDS):
                        self._concurrency.use_all_workers()
                    self._wait(item, self)
                    self.raise_if_interrupted()
                except BaseException:
                    self._pending.appendleft((item, state, reserved))  # Ctrl-C: the row is not lost
                    raise
                self.stats.wait_in += time.perf_counter() - began
            self.budget.release(reserved)
            if item.error is not None:
                raise self._row_error_handler.with_file(item.error)
            assert item.result is not None
            chunk, report = item.result
            before, self._upstream_state = self._upstream_state, state
            self._update_estimates(chunk, report)
            self._concurrency.record_chunk(report.rows, sum(report.seconds), sum(report.cpu), waited)
            self._row_error_handler.add_chunk(
                chunk, report.rows, report.leading_failures, report.failed_rows, before, state
            )
            if self._first_chunk_only:
                self._first_chunk_only = False
                if self._reads_indices:  # otherwise pulling upstream might block
                    self._submit_chunks()  # while the caller processes its first batch

    def _sample_gil(self, item: Task) -> None:
        """Sample GIL availability while a chunk is processed."""
        while self._concurrency.wants_gil_samples:
            began = time.perf_counter()
            if item.wait(GIL_SAMPLE_SECONDS):
                return
            self._concurrency.record_gil_delay(time.perf_counter() - began - GIL_SAMPLE_SECONDS)

    def _start_remaining(self, head: Task, state: State, reserved: int) -> None:
        """The first chunk is slow: activate all workers and submit more chunks."""
        self._first_chunk_only = False
        self._concurrency.use_all_workers()
        self._pending.appendleft((head, state, reserved))
        try:
            self._submit_chunks()
        finally:
            self._pending.popleft()

    def _set_active_workers(self, workers: int) -> None:
        self.executor.set_active_workers(workers)
        self.stats.working = workers

    def _submit_chunks(self) -> None:
        """Submit chunks until the window or the memory budget is full; wait for upstream only if none is in flight."""
        pending = self._pending
        while len(pending) < self.max_in_flight:
            if pending and (self._ended(pending[-1][0]) or not self.upstream.is_ready()):
                return
            under_way = bool(pending)
            if under_way and self._first_chunk_only:
                return
            if under_way and not self._expected_bytes and self.budget.tight:
                return  # the first chunk determines the expected size
            if not self.budget.try_reserve(self._expected_bytes, must=not under_way):
                self._budget_refused = True
                return
            try:
                got = self.upstream.pull()
            except Exception as error:
                # raised after the chunks in flight
                self.budget.release(self._expected_bytes)
                failed = Task(None)
                failed.finish(None, error)
                pending.append((failed, self._upstream_state, 0))
                return
            if isinstance(got, Signal):
                self.budget.release(self._expected_bytes)
                pending.append((got, self.upstream.state(), 0))
                continue
            pending.append((self.executor.submit(got), self.upstream.state(), self._expected_bytes))

    @staticmethod
    def _ended(last: Task | Signal) -> bool:
        """Whether nothing can follow: no more epochs, or upstream failed."""
        return last is END_OF_DATA or (
            isinstance(last, Task) and last.error is not None and last.chunk is None
        )

    def _update_estimates(self, chunk: Chunk, report: ChunkReport) -> None:
        """Update statistics, the expected size of chunks, and the rows of the next chunk."""
        rows_in, held, seconds = report.rows, report.peak_bytes, report.seconds
        self._failed = report.error and self._row_error_handler.with_file(report.error)
        stats = self.stats
        if stats.workers > self.executor.num_workers:  # not all could be started
            stats.workers = stats.working = self.executor.num_workers
        stats.rows += len(chunk)
        stats.chunks += 1
        stats.bytes += held
        busy = sum(seconds)
        stats.busy += busy
        stats.cpu += sum(report.cpu)
        for op, kept, spent, used in zip(stats.ops, report.rows_out, seconds, report.cpu, strict=False):
            op.kept += kept
            op.busy += spent
            op.cpu += used
            op.rows += rows_in
        if report.cached is not None:
            stats.cache = report.cached if stats.cache is None else stats.cache + report.cached
        for key, message in report.warnings:
            warn_once(key, message)
        self._expected_bytes = max(self._expected_bytes, held)
        if held > self.budget.limit and (
            not self._reads_indices or rows_in <= self.node.placement.row_multiple
        ):
            self.budget.require_fits(
                held, stats.name, f"one {'batch' if stats.batches else 'chunk'} of {rows_in} rows"
            )
        if self._reads_indices and not self.node.placement.fixed_rows and rows_in:
            unit = self.node.placement.row_multiple
            # on a busy machine wall time includes waiting for a core: the cost is CPU time, unless most of the time was
            # spent waiting for I/O
            used = sum(report.cpu)
            cost = used if used * WAIT_FACTOR > busy else busy
            wanted = int(self._target / max(cost / rows_in, 1e-9)) // unit * unit
            if self._rows is not None:
                wanted = self._rows
            assert isinstance(self.upstream, IndexStage)
            by_bytes = self._most_bytes * rows_in // max(1, held) // unit * unit
            # at most double the size: one outlier must not make the next chunk huge
            most = self._rows or self.node.placement.max_rows
            self.upstream.rows = max(unit, min(wanted, by_bytes, most, 2 * self.upstream.rows))

    def state(self) -> State:
        return self._row_error_handler.state()

    def restore(self, state: State) -> None:
        self._upstream_state = self._row_error_handler.restore(state)
        self.upstream.restore(self._upstream_state)

    def is_ready(self) -> bool:
        self._submit_chunks()
        head = self._pending[0][0]
        return isinstance(head, Signal) or head.done()

    def skip_epoch(self) -> None:
        while self._pending:
            item, state, reserved = self._pending.popleft()
            if isinstance(item, Signal):
                self._reset_position(state)
                if item is END_OF_DATA:
                    self._pending.append((END_OF_DATA, state, 0))
                return
            item.cancelled = True
            self.budget.release(reserved)
        self.upstream.skip_epoch()
        self._reset_position(self.upstream.state())

    def skip(self, rows: int) -> int:
        batching = [op for op in self.node.ops if op.makes_batches]
        in_order = all(
            op.preserves_rows and not op.is_sequential
            for op in self.node.ops
            if not (op.makes_batches or op.random_access)
        )
        if not in_order or len(batching) > 1 or not self._row_error_handler.drops_no_rows:
            return 0
        if self._pending and not self._cancel_in_flight():
            return 0
        # from indices, a batch takes this many rows; otherwise upstream has already cut the batches
        each = self.node.batch_rows or 1
        if self._reads_indices and batching and self.node.batch_rows is None:
            return 0
        skipped = -(-self.upstream.skip(rows * each) // each)
        self._reset_position(self.upstream.state())
        return skipped

    def _cancel_in_flight(self) -> bool:
        """Cancel the chunks in flight and return to the position after the last delivered chunk, if upstream is an
        index stage.
        """
        if not self._reads_indices or self._row_error_handler.ready or self._failed is not None:
            return False
        self._drop_pending()
        self.upstream.restore(self._upstream_state)
        return True

    def _reset_position(self, epoch: State) -> None:
        self._upstream_state = epoch
        self._row_error_handler.reset(epoch)

    def interrupt(self) -> None:
        super().interrupt()
        awaited = self._awaited_task
        if awaited is not None:
            awaited.abandon()
        self.upstream.interrupt()

    def close(self) -> None:
        self._drop_pending()
        self.executor.close()
        self.upstream.close()

    def _drop_pending(self) -> None:
        for item, _, reserved in self._pending:
            if isinstance(item, Task):
                item.cancelled = True
            self.budget.release(reserved)
        self._pending.clear()

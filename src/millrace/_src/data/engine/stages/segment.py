"""The one parallel stage: a deque of tasks in submission order.

That deque gives order (results leave in the order their chunks came), back-pressure (its length and the byte
budget bound what is under way) and error delivery (an exception surfaces when its turn comes).
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

# A chunk holds no more than this, unless one batch does; and where it is handed on in memory, no more than stays in the
# processor's cache until somebody takes it.
MAX_CHUNK_BYTES = 12 << 20
CACHED_BYTES = 5 << 20
# So long the first chunk has the interpreter to itself: workers that take turns at it would only delay a first batch.
HEAD_START = 0.01
# When a chunk takes longer though one worker alone was thought to be enough, all work: it may wait for another one.
STALL_SECONDS = 0.1
# Seconds between two looks at a chunk that is worked on.
GIL_SAMPLE_SECONDS = 0.0005
# Rows of a cache that are made are also stored, which costs as much for one as for many: their chunks may take so many
# times as long.
CACHE_TIME_FACTOR = 2.5
# A row whose processor time is less than this part of its time waits for something.
WAIT_FACTOR = 4


class SegmentConfig(NamedTuple):
    """What a segment is asked to be: its workers, the chunks that may be under way at least, and the rows of one."""

    workers: int
    prefetch_chunks: int
    # 0: as many as take the time that a chunk should
    rows: int = 0


class SegmentStage(Stage):
    def __init__(
        self,
        node: Segment,
        up: Stage,
        executor: Executor,
        budget: MemoryBudget,
        stats: StageStats,
        wait: Callable[[Task, SegmentStage], None],
        mender: RowErrorHandler,
    ) -> None:
        self.node, self.up, self.executor, self.budget, self.stats = node, up, executor, budget, stats
        self._wait, self._mender = wait, mender
        self._pending: deque[tuple[Task | Signal, State, int]] = deque()
        # upstream's position after the chunk that came out last
        self._upstream_state = up.state()
        # bytes one chunk is expected to hold while it is worked on and waits; learnt from the largest seen
        self._expected_bytes = 0
        # the error that comes after the rows delivered last
        self._failed: DataError | None = None
        self._reads_indices = isinstance(up, IndexStage)
        self._target = executor.traits.target_seconds * (CACHE_TIME_FACTOR if node.cost_varies else 1)
        # decoding and the like runs outside the GIL: there every thread helps
        native = node.is_expensive and not any(op.python for op in stats.ops)
        rivals = executor.traits.shares_gil and not native
        # transforms of ours that say so never run at the same time: nothing has to be tried
        bound = rivals and node.holds_gil and not node.is_expensive
        # ours only copy memory: that the interpreter is free then says nothing of the bus
        looks = any(op.python for op in stats.ops)
        self._concurrency = AdaptiveConcurrency(
            executor.num_workers if rivals else 1, self._set_active_workers, bound, looks
        )
        # the first chunk runs before others are asked for
        self._first_chunk_only = rivals
        self._most_bytes = CACHED_BYTES if rivals else executor.max_chunk_bytes or MAX_CHUNK_BYTES
        self._budget_refused = False
        # the task that this stage's thread waits for
        self._awaited_task: Task | None = None
        # chunks under way at a time, and what each worker takes of them
        self.max_in_flight = node.placement.max_in_flight
        self._chunks_per_worker = 1 if executor.traits.same_process or node.is_expensive else 2
        # rows per chunk that somebody found to be best; None: as many as take the time that a chunk should
        self._rows: int | None = None
        # what is to change before the next chunk is asked for
        self._pending_config: SegmentConfig | None = None

    def retune(self, config: SegmentConfig) -> None:
        """Other numbers from the next chunk on, asked for by any thread. No row depends on them."""
        self._pending_config = config

    def _apply_config(self, wish: SegmentConfig) -> None:
        """In the thread that pulls: nobody else uses the executor."""
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
        """What it was asked for last is not in force yet."""
        return self._pending_config is not None

    @property
    def chunk_rows(self) -> int:
        """Rows per chunk now; 0 where they are not to be changed."""
        return self.up.rows if isinstance(self.up, IndexStage) and not self.node.placement.fixed_rows else 0

    def pull(self) -> StageOutput:
        while True:
            self.raise_if_interrupted()
            if self._mender.ready:
                return self._mender.next()
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
                    self._mender.end(state)
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
                raise self._mender.with_file(item.error)
            assert item.result is not None
            chunk, report = item.result
            before, self._upstream_state = self._upstream_state, state
            self._update_estimates(chunk, report)
            self._concurrency.record_chunk(report.rows, sum(report.seconds), sum(report.cpu), waited)
            self._mender.add_chunk(chunk, report.rows, report.lead, report.failed_rows, before, state)
            if self._first_chunk_only:
                self._first_chunk_only = False
                if self._reads_indices:  # else it might have to wait
                    self._submit_chunks()  # while the caller has its first batch

    def _sample_gil(self, item: Task) -> None:
        """Tell, while a chunk is worked on, whether the interpreter is free."""
        while self._concurrency.wants_gil_samples:
            began = time.perf_counter()
            if item.wait(GIL_SAMPLE_SECONDS):
                return
            self._concurrency.record_gil_delay(time.perf_counter() - began - GIL_SAMPLE_SECONDS)

    def _start_remaining(self, head: Task, state: State, reserved: int) -> None:
        """The first chunk takes its time: the others begin, too."""
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
        """Submit chunks until the window or the budget is full; wait for upstream only when nothing is left."""
        pending = self._pending
        while len(pending) < self.max_in_flight:
            if pending and (self._ended(pending[-1][0]) or not self.up.is_ready()):
                return
            under_way = bool(pending)
            if under_way and self._first_chunk_only:
                return
            if under_way and not self._expected_bytes and self.budget.tight:
                return  # the first chunk tells how large chunks are
            if not self.budget.try_reserve(self._expected_bytes, must=not under_way):
                self._budget_refused = True
                return
            try:
                got = self.up.pull()
            except Exception as error:
                # its turn comes after the chunks that are under way
                self.budget.release(self._expected_bytes)
                failed = Task(None)
                failed.finish(None, error)
                pending.append((failed, self._upstream_state, 0))
                return
            if isinstance(got, Signal):
                self.budget.release(self._expected_bytes)
                pending.append((got, self.up.state(), 0))
                continue
            pending.append((self.executor.submit(got), self.up.state(), self._expected_bytes))

    @staticmethod
    def _ended(last: Task | Signal) -> bool:
        """Nothing can come after this: no more epochs, or upstream failed."""
        return last is END_OF_DATA or (
            isinstance(last, Task) and last.error is not None and last.chunk is None
        )

    def _update_estimates(self, chunk: Chunk, report: ChunkReport) -> None:
        """Stats, the expected size of the next chunk, and how many rows it should have."""
        rows_in, held, seconds = report.rows, report.peak_bytes, report.seconds
        self._failed = report.error and self._mender.with_file(report.error)
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
            # on a busy machine the clock goes on while a worker waits for its turn: work is what the processor did,
            # unless most of the time really went into waiting (for a disk, a network)
            used = sum(report.cpu)
            cost = used if used * WAIT_FACTOR > busy else busy
            wanted = int(self._target / max(cost / rows_in, 1e-9)) // unit * unit
            if self._rows is not None:
                wanted = self._rows
            assert isinstance(self.up, IndexStage)
            by_bytes = self._most_bytes * rows_in // max(1, held) // unit * unit
            # grow by doubling: one odd chunk must not make the next one huge
            most = self._rows or self.node.placement.max_rows
            self.up.rows = max(unit, min(wanted, by_bytes, most, 2 * self.up.rows))

    def state(self) -> State:
        return self._mender.state()

    def restore(self, state: State) -> None:
        self._upstream_state = self._mender.restore(state)
        self.up.restore(self._upstream_state)

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
        self.up.skip_epoch()
        self._reset_position(self.up.state())

    def skip(self, rows: int) -> int:
        batching = [op for op in self.node.ops if op.makes_batches]
        in_order = all(
            op.preserves_rows and not op.is_sequential
            for op in self.node.ops
            if not (op.makes_batches or op.random_access)
        )
        if not in_order or len(batching) > 1 or not self._mender.drops_no_rows:
            return 0
        if self._pending and not self._cancel_in_flight():
            return 0
        # from indices a batch takes so many rows; otherwise whoever is above has cut the batches already
        each = self.node.batch_rows or 1
        if self._reads_indices and batching and self.node.batch_rows is None:
            return 0
        skipped = -(-self.up.skip(rows * each) // each)
        self._reset_position(self.up.state())
        return skipped

    def _cancel_in_flight(self) -> bool:
        """Give up what is under way and stand behind what came out last, where upstream is only a count."""
        if not self._reads_indices or self._mender.ready or self._failed is not None:
            return False
        self._drop_pending()
        self.up.restore(self._upstream_state)
        return True

    def _reset_position(self, epoch: State) -> None:
        self._upstream_state = epoch
        self._mender.reset(epoch)

    def interrupt(self) -> None:
        super().interrupt()
        awaited = self._awaited_task
        if awaited is not None:
            awaited.abandon()
        self.up.interrupt()

    def close(self) -> None:
        self._drop_pending()
        self.executor.close()
        self.up.close()

    def _drop_pending(self) -> None:
        for item, _, reserved in self._pending:
            if isinstance(item, Task):
                item.cancelled = True
            self.budget.release(reserved)
        self._pending.clear()

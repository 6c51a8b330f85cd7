"""The one parallel stage: a deque of tasks in submission order.

That deque gives order (results leave in the order their chunks came), back-pressure (its length and the byte
budget bound what is under way) and error delivery (an exception surfaces when its turn comes).
"""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from millrace.core.chunk import Chunk
from millrace.core.errors import DataError
from millrace.core.ledger import Entry
from millrace.core.log import warn_once
from millrace.core.stats import StageStats
from millrace.data.engine.budget import Bytes
from millrace.data.engine.concurrency import Concurrency
from millrace.data.engine.executors.base import Executor, Task
from millrace.data.engine.executors.threads import ThreadExecutor
from millrace.data.engine.segment.runner import Report
from millrace.data.plan.passes.spread import is_heavy
from millrace.data.plan.physical import Segment

from .base import DONE, Pulled, Signal, Stage, State
from .indices import IndexStage

__all__ = ["SegmentStage"]

E = TypeVar("E", bound=BaseException)

# A chunk should take about this long: far above the cost of a hand-over (50 us; 200 us to a process and back).
TARGET_SECONDS = {"inline": 0.004, "threads": 0.004, "processes": 0.02}
# ... and hold no more than this, unless one batch does.
MOST_BYTES = 4 << 20
# The share of bad rows means something once this many have been seen, or at the end of an epoch.
LIMIT_FROM_ROWS = 100


class SegmentStage(Stage):
    def __init__(
        self,
        node: Segment,
        up: Stage,
        executor: Executor,
        budget: Bytes,
        stats: StageStats,
        report: Callable[..., None],
        wait: Callable[[Task, SegmentStage], None],
        limit: float,
        where: Callable[[int], str | None] | None,
    ) -> None:
        self.node, self.up, self.executor, self.budget, self.stats = node, up, executor, budget, stats
        self._report, self._wait, self._limit, self._where = report, wait, limit, where
        self._pending: deque[tuple[Task | Signal, State, int]] = deque()
        self._state = up.state()
        # bytes one chunk is expected to hold while it is worked on and waits; learnt from the largest seen
        self._expected = 0
        # the error that comes after the rows delivered last
        self._failed: DataError | None = None
        # rows that failed under an error mode that goes on, counted as their chunks are delivered
        self.dropped = 0
        self._feeds_itself = isinstance(up, IndexStage)
        self._target = TARGET_SECONDS.get(executor.kind, 0.02)
        threads = executor if isinstance(executor, ThreadExecutor) else None
        self._threads = threads
        # decoding and the like runs outside the GIL: there every thread helps
        native = is_heavy(node) and not any(op.python for op in stats.ops)
        self._concurrency = Concurrency(1 if threads is None or native else threads.slots, self._use)
        self._refused = False

    def pull(self) -> Pulled:
        while True:
            if self._failed is not None:
                raise self._failed
            self._refused = False
            self._top_up()
            self.stats.refused += self._refused
            self.stats.fill.append(len(self._pending) / self.node.window)
            item, state, reserved = self._pending.popleft()
            if isinstance(item, Signal):
                self._state = state
                if item is DONE:
                    self._pending.append((DONE, state, 0))
                elif self.dropped:
                    self._check_limit(self.stats.ops[0].rows)
                return item
            waited = not item.done()
            if waited:
                began = time.perf_counter()
                try:
                    self._wait(item, self)
                except BaseException:
                    self._pending.appendleft((item, state, reserved))  # Ctrl-C: the row is not lost
                    raise
                self.stats.wait_in += time.perf_counter() - began
            self.budget.give_back(reserved)
            if item.error is not None:
                raise self._located(item.error)
            assert item.result is not None
            chunk, report = item.result
            self._state = state
            self._learn(chunk, report)
            self._concurrency.finished(report.rows, sum(report.cpu), waited)
            if len(chunk):
                return chunk

    def _use(self, workers: int) -> None:
        assert self._threads is not None
        self._threads.use(workers)
        self.stats.working = workers

    def _top_up(self) -> None:
        """Submit chunks until the window or the budget is full; wait for upstream only when nothing is left."""
        pending = self._pending
        while len(pending) < self.node.window:
            if pending and (self._ended(pending[-1][0]) or not self.up.ready()):
                return
            under_way = bool(pending)
            if under_way and not self._expected and self.budget.tight:
                return  # the first chunk tells how large chunks are
            if not self.budget.admit(self._expected, must=not under_way):
                self._refused = True
                return
            try:
                got = self.up.pull()
            except Exception as error:
                # its turn comes after the chunks that are under way
                self.budget.give_back(self._expected)
                failed = Task(None)
                failed.finish(None, error)
                pending.append((failed, self._state, 0))
                return
            if isinstance(got, Signal):
                self.budget.give_back(self._expected)
                pending.append((got, self.up.state(), 0))
                continue
            pending.append((self.executor.submit(got), self.up.state(), self._expected))

    @staticmethod
    def _ended(last: Task | Signal) -> bool:
        """Nothing can come after this: no more epochs, or upstream failed."""
        return last is DONE or (isinstance(last, Task) and last.error is not None and last.chunk is None)

    def _learn(self, chunk: Chunk, report: Report) -> None:
        """Stats, the expected size of the next chunk, and how many rows it should have."""
        rows_in, held, seconds = report.rows, report.held, report.seconds
        self._failed = report.error and self._located(report.error)
        stats = self.stats
        stats.rows += len(chunk)
        stats.chunks += 1
        stats.bytes += held
        busy = sum(seconds)
        stats.busy += busy
        stats.cpu += sum(report.cpu)
        for op, spent, used in zip(stats.ops, seconds, report.cpu, strict=False):
            op.busy += spent
            op.cpu += used
            op.rows += rows_in
        for key, message in report.warnings:
            warn_once(key, message)
        if report.ledger:
            self.dropped += len(report.ledger)
            self._report([self._entry(entry) for entry in report.ledger])
            if stats.ops[0].rows >= LIMIT_FROM_ROWS:
                self._check_limit(stats.ops[0].rows)
        self._expected = max(self._expected, held)
        if self._feeds_itself and not self.node.fixed and rows_in:
            unit = self.node.unit
            wanted = int(self._target / max(busy / rows_in, 1e-9)) // unit * unit
            assert isinstance(self.up, IndexStage)
            by_bytes = MOST_BYTES * rows_in // max(1, held) // unit * unit
            # grow by doubling: one odd chunk must not make the next one huge
            self.up.rows = max(unit, min(wanted, by_bytes, self.node.rows, 2 * self.up.rows))

    def _located(self, error: E) -> E:
        """The error with the file of its row, if that is known here and was not there."""
        if isinstance(error, DataError) and "file" not in error.context:
            file = self._file(error.context.get("row"))
            if file is not None:
                error.context["file"] = file
        return error

    def _entry(self, entry: Entry) -> Entry:
        return entry if entry.file is not None else dataclasses.replace(entry, file=self._file(entry.row))

    def _file(self, row: int | None) -> str | None:
        if self._where is None or row is None or row < 0:
            return None
        try:
            return self._where(row)
        except Exception as error:  # the context of an error must never hide the error
            return f"(unknown: {error})"

    def _check_limit(self, rows: int) -> None:
        """A few bad rows may be skipped; when most are bad the pipeline is wrong, not the rows."""
        if self.dropped > self._limit * rows:
            raise DataError(
                f"{self.dropped} of {rows} rows failed, more than config.set_error_samples_limit({self._limit}) allows;"
                " dataset.skipped() lists them",
                op=self.stats.name,
            )

    def state(self) -> State:
        return self._state

    def restore(self, state: State) -> None:
        self.up.restore(state)
        self._state = state

    def ready(self) -> bool:
        self._top_up()
        head = self._pending[0][0]
        return isinstance(head, Signal) or head.done()

    def skip_rest(self) -> None:
        while self._pending:
            item, state, reserved = self._pending.popleft()
            if isinstance(item, Signal):
                self._state = state
                if item is DONE:
                    self._pending.append((DONE, state, 0))
                return
            item.cancelled = True
            self.budget.give_back(reserved)
        self.up.skip_rest()
        self._state = self.up.state()

    def close(self) -> None:
        for item, _, reserved in self._pending:
            if isinstance(item, Task):
                item.cancelled = True
            self.budget.give_back(reserved)
        self._pending.clear()
        self.executor.close()
        self.up.close()

"""Execution of a plan: pulls rows from the root stage, tracks the position and shuts down deterministically.

The contract (any deviation is a bug):

- *Exhausted*: at the end of the last epoch the run closes before StopIteration is raised; an endless run closes with
  its iterator. After that no worker, thread, open file or shared block of it exists.
- *Failed*: an error is raised to the consumer at the position of its row, after all rows before it. Then the run
  closes; a later ``next()`` reports that it is closed and why.
- *Abandoned*: an iterator that is dropped, stopped early, interrupted by Ctrl-C, or left open until the interpreter
  exits closes its run. Closing is idempotent, safe from any thread, and takes less than a second: first every wait of
  the engine ends (``interrupt``), then chunks in flight have ``shutdown.GRACE_SECONDS`` to finish. A user function that
  takes longer is killed with its worker process. A thread cannot be killed: that daemon thread finishes the function,
  then closes what it holds, including its source, and ends; its result is dropped, and no other row is started.
- *From another thread*: a thread that waits for a row while another closes the run gets an error with that reason. A
  user function that closes its own run continues to its end; the callers on its stack close after it.
- *Forked*: a child of fork inherits no run: closing there does not affect the parent's workers.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any

from millrace._src.core.errors import CursorError, MillraceError, PlanError
from millrace._src.core.log import get_logger
from millrace._src.core.statistics import RunStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.failed_rows import FailedRowLog
from millrace._src.data.plan.bind import Plan
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.order_ops import Read

from .cursor import Cursor, check_state_layout
from .lowering import Lowering
from .shutdown import remaining_seconds, shutdown_deadline
from .stages.base import END_OF_EPOCH, Interrupted, Signal, Stage
from .thread_limits import MemoryBudget

if TYPE_CHECKING:
    from .autotune.tuner import Tuner

__all__ = ["PipelineRun"]

log = get_logger(__name__)

_live: weakref.WeakSet[PipelineRun] = weakref.WeakSet()


class PipelineRun:
    """Pulls rows from the root stage and tracks the position after each."""

    def __init__(self, plan: Plan, epochs: int | None, state: Any = None) -> None:
        self.plan = plan
        self.pid = os.getpid()
        # computed before the first row: state that objects accumulate while rows run is not part of the plan
        self.fingerprint = plan.fingerprint()
        cursor = None if state is None else Cursor.from_json(state)
        if cursor is not None:
            cursor.check(self.fingerprint)  # before anything is started
        self.stats = RunStats()
        self.failed_rows = FailedRowLog()
        self.budget = MemoryBudget.from_settings(plan.settings)
        self.padded_rows = _count_padded_rows(plan)
        self.closed = False
        self.close_reason: BaseException | str | None = None
        self.epoch, self.step = 0, 0
        self._chunk: Chunk | None = None
        self._row_in_chunk = 0
        self._closing = threading.RLock()
        # held while rows are pulled; only its holder may close the stages
        self._pull_lock = threading.Lock()
        self._pulling_thread: int | None = None
        self._released = False
        lowering = Lowering(plan, self.budget, self.stats, self.failed_rows, self._wait)
        self.root: Stage = lowering.root(epochs)
        self.tuner = self._tuner(lowering)
        self._chunk_state: Any = self.root.state()
        self._rows_to_drop = 0
        if cursor is not None:
            self._restore(cursor)
        _live.add(self)

    def _tuner(self, lowering: Lowering) -> Tuner | None:
        """The autotuner of this run, if enabled and if there are parameters to tune."""
        settings = self.plan.settings
        if not settings.enable_autotune or not any(s.executor.traits.background for s in lowering.segments):
            return None
        # imported only when enabled, to keep the import fast
        from .autotune.config_file import AutotuneFile
        from .autotune.tuner import Tuner

        prefix = settings.autotune_filepath_prefix
        try:
            saved = None if prefix is None else AutotuneFile(prefix, self.plan, self.fingerprint)
            segments, prefetch_stages = lowering.segments, lowering.prefetch_stages
            return Tuner(
                self.stats, self.budget, segments, prefetch_stages, settings.autotune_interval, saved
            )
        except BaseException:
            self.root.close()  # its workers may have started
            raise

    # rows ----------------------------------------------------------------------------------------

    def next_row(self) -> dict[str, Any] | Signal:
        """The next row, END_OF_EPOCH at the end of each epoch, END_OF_DATA after the last."""
        if self._chunk is None:
            began = self._enter()
            signal: Signal | None = END_OF_EPOCH
            try:
                signal = self._pull_locked(began)
            except BaseException as error:
                if isinstance(error, Interrupted):
                    raise PlanError(self._closed_text()) from None
                self.close(error)
                raise
            finally:
                self.stats.leave(fresh=signal is None)
                if self.closed:
                    self._release()
            if signal is not None:
                return signal
        chunk = self._chunk
        if chunk is None:  # closed from another thread just now
            raise PlanError(self._closed_text())
        row = chunk.row(self._row_in_chunk)
        self._row_in_chunk += 1
        self.step += 1
        self.stats.delivered += 1
        if self._row_in_chunk == len(chunk):
            self._chunk = None
        return row

    def _enter(self) -> float:
        if self.closed:
            raise PlanError(self._closed_text())
        began = self.stats.enter()
        if self.tuner is not None:
            self.tuner.on_step()
        return began

    def _pull_locked(self, began: float) -> Signal | None:
        with self._pull_lock:
            self._pulling_thread = threading.get_ident()
            try:
                return self._pull(began)
            finally:
                self._pulling_thread = None

    def _pull(self, began: float) -> Signal | None:
        while True:
            before = self.root.state()
            output = self.root.pull()
            if isinstance(output, Signal):
                self._chunk_state, self._row_in_chunk = self.root.state(), 0
                if output is END_OF_EPOCH:
                    self.epoch, self.step = self.epoch + 1, 0
                    self.stats.epochs += 1
                return output
            if self._rows_to_drop >= len(output):  # delivered before the state was saved
                self._rows_to_drop -= len(output)
                continue
            self._chunk, self._chunk_state, self._row_in_chunk, self._rows_to_drop = (
                output,
                before,
                self._rows_to_drop,
                0,
            )
            break
        now = time.perf_counter()
        self.stats.consumer_wait += now - began
        if self.stats.first_batch is None:
            self.stats.first(now)
        return None

    def _closed_text(self) -> str:
        if isinstance(self.close_reason, BaseException):
            return f"this iterator is closed: it failed with {type(self.close_reason).__name__} before"
        return "Iterator does not have a running pipeline: it was stopped or has given all its epochs"

    # position ------------------------------------------------------------------------------------

    def cursor(self) -> Cursor:
        if self._chunk is not None:
            stages = {"root": self._chunk_state, "skip": self._row_in_chunk}
        else:
            stages = {"root": self.root.state(), "skip": self._rows_to_drop}
        plan = self.fingerprint
        return Cursor(
            plan.text, plan.marks(), self.plan.seed, self.epoch, self.step, stages, self.stats.delivered
        )

    def _restore(self, cursor: Cursor) -> None:
        saved = cursor.stages["root"]
        try:
            check_state_layout(self._chunk_state, saved)
            self.root.restore(saved)
        except MillraceError:
            self.root.close()  # its workers may have started
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            self.root.close()
            raise CursorError(
                f"this state is damaged, it is not what iterator.state() returned: {type(error).__name__}: {error}"
            ) from error
        self._rows_to_drop = cursor.stages["skip"]
        self.epoch, self.step = cursor.epoch, cursor.step

    def skip_to_next_epoch(self) -> None:
        """Skip the rest of this epoch."""
        if self.closed:
            raise PlanError(self._closed_text())
        self._chunk, self._rows_to_drop = None, 0
        self.root.skip_epoch()
        self.epoch, self.step, self._chunk_state = self.epoch + 1, 0, self.root.state()

    def skip(self, epochs: int, steps: int) -> None:
        """Start at a later step.

        Epochs are skipped without reading. Steps are skipped without reading if the row number follows from the
        position; otherwise rows are produced and dropped.
        """
        for _ in range(epochs):
            self.root.skip_epoch()
        self._rows_to_drop = steps - self.root.skip(steps)
        self.epoch, self.step, self._chunk_state = epochs, steps, self.root.state()

    # waiting -------------------------------------------------------------------------------------

    def _wait(self, what: Any, stage: Stage) -> None:
        """Wait for a task or a queue; log the stacks of all workers when there is no progress for too long."""
        settings = self.plan.settings
        patience = settings.multiprocessing_timeout_interval if settings.enable_watchdog else None
        deadline = None if patience is None else time.monotonic() + patience
        while not what.wait(1.0):
            if self.closed:
                raise PlanError(self._closed_text())
            if deadline is not None and time.monotonic() > deadline and patience is not None:
                log.warning("%s", self._stall_text(stage, patience))
                deadline = time.monotonic() + patience
            if isinstance(what, threading.Condition):
                return  # the caller checks its queue again

    def _stall_text(self, stage: Stage, patience: float) -> str:
        stacks = getattr(getattr(stage, "executor", None), "stacks", lambda: "")()
        return (
            f"{stage.stats.name} produced nothing for {patience} seconds. Stacks of its workers:\n{stacks}\n"
            "If this is expected, increase config.set_multiprocessing_timeout_interval(seconds)."
        )

    # the end -------------------------------------------------------------------------------------

    def close(self, why: BaseException | str | None = None) -> None:
        """Stop the run as described in the contract above."""
        if os.getpid() != self.pid:
            return
        with self._closing:
            if self.closed:
                return
            self.closed, self.close_reason = True, why
            self._chunk = None
            self.stats.end()
            if self.tuner is not None:
                self.tuner.finish()
            _live.discard(self)
            with shutdown_deadline():
                self.root.interrupt()
                self._release()

    def _release(self) -> None:
        """Close the stages; if another thread is in them after the deadline, that thread closes them later."""
        if self._pulling_thread == threading.get_ident() or not self._pull_lock.acquire(
            timeout=remaining_seconds()
        ):
            return
        try:
            if not self._released:
                self._released = True
                self.root.close()
        finally:
            self._pull_lock.release()


def _count_padded_rows(plan: Plan) -> int:
    """Number of padding rows of this shard, which equalize the number of steps of all shards; logged."""
    total = 0
    for node in walk(plan.logical):
        if (
            isinstance(node, Read)
            and hasattr(node.sampler, "shard_padding")
            and node.sampler.get_child() is None
        ):
            rows = node.sampler.shard_padding(node.source.size() or 0)
            if rows > 0:
                log.info(
                    "%s: %d rows of this shard are padding (duplicates), so that all shards have the same size",
                    node.label,
                    rows,
                )
            total += max(0, rows)
    return total


def _close_all() -> None:
    for run in list(_live):
        run.close("the interpreter is ending")


atexit.register(_close_all)

"""Sequential step stage: runs a row-wise step in order in one thread.

Failed rows are handled as in a segment.
"""

from __future__ import annotations

from collections.abc import Callable

from millrace._src.core.errors import DataError
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.segment.failures import RowErrors

from .base import END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .rebatch import RowBuffer
from .row_error_handler import RowErrorHandler

__all__ = ["StepCallable", "SequentialStepStage"]

StepCallable = Callable[[Chunk, RowErrors], Chunk]


class SequentialStepStage(UnaryStage):
    """Runs a step in order. ``whole``: by chunk; otherwise row by row, each only when it is needed."""

    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        step: StepCallable,
        row_error_handler: RowErrorHandler,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(upstream, stats)
        self.rows, self.step, self._row_error_handler, self.whole = (
            RowBuffer(upstream),
            step,
            row_error_handler,
            whole,
        )
        self._failed: DataError | None = None
        row_error_handler.reset(self.rows.state())

    def pull(self) -> StageOutput:
        while not self._row_error_handler.ready:
            if self._failed is not None:
                raise self._failed
            signal = self.rows.fill(1)
            if signal is not None:
                return self._ended(signal)
            before = self.rows.state()
            rows = self.rows.take(len(self.rows.peek()) if self.whole else 1)
            failures = RowErrors(self._row_error_handler.policy.mode)
            output = self._run(rows, failures)
            self._failed = failures.error and self._row_error_handler.with_file(failures.error)
            after = self.rows.state()
            self._row_error_handler.add_chunk(
                output, len(rows), failures.leading_failures, failures.failed_rows, before, after
            )
        return self._row_error_handler.next()

    def _run(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        return self.step(chunk, failures)

    def _ended(self, signal: Signal) -> Signal:
        if signal is END_OF_EPOCH:
            self.rows.take_signal()
            self._row_error_handler.end(self.rows.state())
        return signal

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._row_error_handler.reset(self.rows.state())

    def state(self) -> State:
        return self._row_error_handler.state()

    def restore(self, state: State) -> None:
        self.rows.restore(self._row_error_handler.restore(state))

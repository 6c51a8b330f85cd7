"""Row-wise work that must stay in one thread and in order: a step of a segment, run where it stands.

A row that fails here goes the same way as one that fails in a segment.
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
    """``whole``: a chunk at a time, as it comes; otherwise row by row, none before it is asked for."""

    def __init__(
        self,
        up: Stage,
        stats: StageStats,
        step: StepCallable,
        mender: RowErrorHandler,
        *,
        whole: bool = False,
    ) -> None:
        super().__init__(up, stats)
        self.rows, self.step, self._mender, self.whole = RowBuffer(up), step, mender, whole
        self._failed: DataError | None = None
        mender.reset(self.rows.state())

    def pull(self) -> StageOutput:
        while not self._mender.ready:
            if self._failed is not None:
                raise self._failed
            signal = self.rows.fill(1)
            if signal is not None:
                return self._ended(signal)
            before = self.rows.state()
            rows = self.rows.take(len(self.rows.peek()) if self.whole else 1)
            failures = RowErrors(self._mender.policy.mode)
            output = self._run(rows, failures)
            self._failed = failures.error and self._mender.with_file(failures.error)
            after = self.rows.state()
            self._mender.add_chunk(output, len(rows), failures.lead, failures.ledger, before, after)
        return self._mender.next()

    def _run(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        return self.step(chunk, failures)

    def _ended(self, signal: Signal) -> Signal:
        if signal is END_OF_EPOCH:
            self.rows.take_signal()
            self._mender.end(self.rows.state())
        return signal

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self._mender.reset(self.rows.state())

    def state(self) -> State:
        return self._mender.state()

    def restore(self, state: State) -> None:
        self.rows.restore(self._mender.restore(state))

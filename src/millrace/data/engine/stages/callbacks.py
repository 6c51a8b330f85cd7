"""A map with callbacks: rows one at a time, in order, with the user's hooks before and after."""

from __future__ import annotations

from typing import Any

from millrace.core.chunk import Chunk
from millrace.core.stats import StageStats
from millrace.data.engine.segment.failures import Failures, data_error
from millrace.data.engine.segment.mapping import MapStep

from .base import END, Pulled, Stage, State, Through
from .regroup import Rows

__all__ = ["CallbackStage"]


class _RunContext:
    """What a callback is told."""

    def __init__(self, epoch: int, step: int, step_in_epoch: int) -> None:
        self.cur_epoch_num = epoch
        self.cur_step_num = step
        self.cur_step_num_in_epoch = step_in_epoch


class CallbackStage(Through):
    def __init__(
        self, up: Stage, stats: StageStats, step: MapStep, callbacks: tuple[Any, ...], policy: str
    ) -> None:
        super().__init__(up, stats)
        self.rows, self.step, self.callbacks, self.policy = Rows(up), step, callbacks, policy
        self.epoch, self.done, self.in_epoch = 0, 0, 0
        self._begun = False
        self._epoch_begun = False

    def _call(self, event: str) -> None:
        context = _RunContext(self.epoch if event == "ds_begin" else self.epoch + 1, self.done, self.in_epoch)
        for callback in self.callbacks:
            every = getattr(callback, "step_size", 1)
            if event in ("ds_step_begin", "ds_step_end") and (self.in_epoch - 1) % every:
                continue
            try:
                getattr(callback, event)(context)
            except Exception as error:
                what = f"map operation: callback {type(callback).__name__}.{event}"
                raise data_error(error, what, op=self.step.name, row=self.in_epoch - 1, columns=[]) from error

    def pull(self) -> Pulled:
        if not self._begun:
            self._begun = True
            self._call("ds_begin")
        while True:
            signal = self.rows.fill(1)
            if signal is not None and signal is not END:
                return signal
            if not self._epoch_begun:
                self._epoch_begun = True
                self._call("ds_epoch_begin")
            if signal is END:
                self._call("ds_epoch_end")
                self.rows.take_signal()
                self._next_epoch()
                return END
            made = self._row(self.rows.take(1))
            if len(made):
                return made

    def _row(self, row: Chunk) -> Chunk:
        self.done += 1
        self.in_epoch += 1
        self._call("ds_step_begin")
        failures = Failures(self.policy)
        made = self.step(row, failures)
        if failures.error is not None:
            raise failures.error
        self._call("ds_step_end")
        self.stats.rows += 1
        return made

    def _next_epoch(self) -> None:
        self.epoch, self.in_epoch, self._epoch_begun = self.epoch + 1, 0, False

    def interrupt(self) -> None:
        for callback in self.callbacks:
            stop = getattr(callback, "interrupt", None)
            if stop is not None:
                stop()

    def skip_rest(self) -> None:
        self.rows.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        return {"rows": self.rows.state(), "epoch": self.epoch, "done": self.done, "in_epoch": self.in_epoch}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.epoch, self.done, self.in_epoch = state["epoch"], state["done"], state["in_epoch"]
        self._begun = self._epoch_begun = self.in_epoch > 0

"""Map stage with dataset callbacks: rows in order, with user hooks before and after each step."""

from __future__ import annotations

from typing import Any

from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.segment.failures import RowErrors, data_error
from millrace._src.data.engine.segment.map_step import MapStep, map_step
from millrace._src.data.plan.nodes import order_ops as ops

from .base import END_OF_EPOCH, Signal, Stage, StageOutput, State
from .row_error_handler import RowErrorHandler
from .sequential_step import SequentialStepStage
from .stage_registry import StageContext, register_stage

__all__ = ["CallbackStage"]


class _RunContext:
    """The context object passed to callbacks."""

    def __init__(self, epoch: int, step: int, step_in_epoch: int) -> None:
        self.cur_epoch_num = epoch
        self.cur_step_num = step
        self.cur_step_num_in_epoch = step_in_epoch


class CallbackStage(SequentialStepStage):
    """Runs a map with callbacks. ``passes``: how often a downstream repeat reads this map per epoch of the iterator."""

    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        step: MapStep,
        row_error_handler: RowErrorHandler,
        callbacks: tuple[Any, ...],
        passes: int,
    ) -> None:
        super().__init__(upstream, stats, step, row_error_handler)
        self.name, self.callbacks, self.passes = step.name, callbacks, passes
        self.turn, self.epoch, self.done, self.in_epoch = 0, 0, 0, 0
        self._has_begun = False
        self._epoch_has_begun = False
        # rows processed before the restore: processed again, but without callbacks
        self._rows_to_repeat = 0

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
                raise data_error(error, what, op=self.name, row=self.in_epoch - 1, columns=[]) from error

    def pull(self) -> StageOutput:
        if not self._has_begun:
            self._has_begun = True
            self._call("ds_begin")
        return super().pull()

    def _begin_epoch(self) -> None:
        if not self._epoch_has_begun:
            self._epoch_has_begun = True
            self._call("ds_epoch_begin")

    def _run(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        if self._rows_to_repeat:
            self._rows_to_repeat -= 1
            return super()._run(chunk, failures)
        self._begin_epoch()
        self.done += 1
        self.in_epoch += 1
        self._call("ds_step_begin")
        output = super()._run(chunk, failures)
        if failures.error is None:
            self._call("ds_step_end")
            self.stats.rows += 1
        return output

    def _ended(self, signal: Signal) -> Signal:
        if signal is END_OF_EPOCH:
            self._begin_epoch()
            if self.turn + 1 == self.passes:
                self._call("ds_epoch_end")
            self._next_turn()
        return super()._ended(signal)

    def _next_turn(self) -> None:
        self.turn += 1
        if self.turn == self.passes:
            self.turn, self.epoch, self.in_epoch, self._epoch_has_begun = 0, self.epoch + 1, 0, False

    def interrupt(self) -> None:
        super().interrupt()
        for callback in self.callbacks:
            stop = getattr(callback, "interrupt", None)
            if stop is not None:
                stop()

    def skip_epoch(self) -> None:
        super().skip_epoch()
        self._next_turn()

    def state(self) -> State:
        count = {"turn": self.turn, "epoch": self.epoch, "done": self.done, "in_epoch": self.in_epoch}
        return {"rows": super().state(), "again": self._row_error_handler.rows_since_good, **count}

    def restore(self, state: State) -> None:
        super().restore(state["rows"])
        self.turn, self.epoch = state["turn"], state["epoch"]
        self.done, self.in_epoch, self._rows_to_repeat = state["done"], state["in_epoch"], state["again"]
        self._has_begun = self._epoch_has_begun = self.in_epoch > 0


@register_stage(ops.Map)
def _callbacks(context: StageContext) -> Stage:
    """Only for maps with callbacks: other maps are inside segments."""
    node = context.node
    step = map_step(node, context.seed, context.settings, False)
    return CallbackStage(
        context.upstream,
        context.stats,
        step,
        context.row_error_handler(context.upstream.state()),
        node.callbacks,
        node.repeat_count,
    )

"""The loops themselves: a training and an evaluation, top to bottom, with the moments that callbacks see."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from millrace.tensor import modes

from .callbacks.base import CallbackList, CallbackParams, RunContext, kept_of, put_back
from .feeding import Feed, Position

__all__ = ["Training", "evaluate"]

# Called before a step: lets the net train, or not.
Switch = Callable[[], None]


class Training:
    """One call of ``Model.train`` or ``Model.fit``: what callbacks see stands in `params`."""

    def __init__(self, params: CallbackParams, callbacks: CallbackList, feed: Feed, switch: Switch) -> None:
        self.params, self.callbacks, self.feed, self._switch = params, callbacks, feed, switch
        self.context = RunContext(params)
        # finished epochs, and steps of the one under way
        self.epoch = self.step_in_epoch = 0
        # whether the data of that epoch have come to their end, which the next position lies behind
        self._between = False
        self.seconds = 0.0
        # what callbacks of the run that is resumed had kept
        self.kept: dict[str, dict[str, Any]] = {}
        # batches in a sunk epoch; None: an epoch is what the dataset says
        self.sink: int | None = None

    def position(self) -> Position:
        """Where the training stands after the last step."""
        full = self.sink is not None and self.step_in_epoch >= self.sink
        epoch, steps = (self.epoch + 1, 0) if self._between or full else (self.epoch, self.step_in_epoch)
        kept = kept_of(self.callbacks.callbacks)
        return Position(epoch, self.params.cur_step_num, steps, self.feed.state(), kept)

    def run(
        self, first: int, last: int, done: int = 0, after_epoch: Callable[[], None] | None = None
    ) -> None:
        """Epochs `first` to `last`, counted from 0; `done` steps of the first one are behind us."""
        params, context, tell = self.params, self.context, self.callbacks.tell
        tell("on_train_begin", context)
        put_back(self.callbacks.callbacks, self.kept)
        for epoch in range(first, last):
            params.cur_epoch_num = epoch + 1
            self.epoch, self.step_in_epoch, done = epoch, done, 0
            self._between = False
            tell("on_train_epoch_begin", context)
            self._epoch()
            if after_epoch is not None:
                after_epoch()
            tell("on_train_epoch_end", context)
            params.pop("metrics", None)
            params.pop("eval_results", None)
            if context.get_stop_requested():
                break
        tell("on_train_end", context)

    def _epoch(self) -> None:
        began = time.perf_counter()
        if self.sink is not None and modes.mode == modes.GRAPH_MODE:
            left = self.sink - self.step_in_epoch
            self._step(self.feed.take(left), left)
        else:
            batches = (
                self.feed.epoch() if self.sink is None else self.feed.take(self.sink - self.step_in_epoch)
            )
            for inputs in batches:
                self._step((inputs,), 1)
                if self.context.get_stop_requested():
                    break
            else:
                self._between = True
        self.seconds += time.perf_counter() - began

    def _step(self, batches: Iterable[Any], count: int) -> None:
        """What lies between two moments of a step: one batch, or those of a whole sunk epoch."""
        params, context, callbacks = self.params, self.context, self.callbacks
        network = params.train_network
        params.cur_step_num += count
        begun, outputs = False, None
        for inputs in batches:
            if not begun:
                params.train_dataset_element, begun = inputs, True
                callbacks.tell("on_train_step_begin", context)
                self._switch()
            outputs = network(*inputs)
            self.step_in_epoch += 1
        params.net_outputs = outputs
        callbacks.tell("on_train_step_end", context)


def evaluate(
    params: CallbackParams,
    callbacks: CallbackList,
    feed: Feed,
    switch: Switch,
    update: Callable[[Any], None],
    results: Callable[[], None],
) -> None:
    """An evaluation: `update` sees what the net made of each batch, `results` puts the sums into `params`."""
    context, tell = RunContext(params), callbacks.tell
    params.mode, params.cur_step_num = "eval", 0
    switch()
    tell("on_eval_begin", context)
    tell("on_eval_epoch_begin", context)
    for inputs in feed.epoch():
        params.cur_step_num += 1
        params.eval_dataset_element = inputs
        tell("on_eval_step_begin", context)
        outputs = params.eval_network(*inputs)
        params.net_outputs = outputs
        tell("on_eval_step_end", context)
        update(outputs)
        if context.get_stop_requested():
            break
    tell("on_eval_epoch_end", context)
    results()
    tell("on_eval_end", context)

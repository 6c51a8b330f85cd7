"""Training and evaluation loops with their callback events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from millrace._src.core.values.tensor import Tensor
from millrace._src.observe import training_registry as steps
from millrace._src.runtime.tensor.backend import execution_mode as modes

from .callbacks.callback import (
    CallbackList,
    CallbackParams,
    RunContext,
    callback_states,
    callback_tensors,
    load_callback_states,
)
from .checkpoint.staging import _pending_copies, guard_writes, wait_for_staging
from .epoch_iterator import EpochIterator, TrainingPosition

__all__ = ["TrainingLoop", "evaluate"]

# Name of the last step's outputs in a checkpoint, and the maximum elements to save.
OUTPUT, FEW = "output", 1024
# Called before a step: sets training or evaluation mode.
Switch = Callable[[], None]


class TrainingLoop:
    """Loop of one ``Model.train`` or ``Model.fit`` call; `params` are the callback parameters."""

    def __init__(
        self, params: CallbackParams, callbacks: CallbackList, feed: EpochIterator, switch: Switch
    ) -> None:
        self.params, self.callbacks, self.feed, self._switch = params, callbacks, feed, switch
        self.context = RunContext(params)
        # finished epochs, and steps of the current epoch
        self.epoch = self.step_in_epoch = 0
        # whether the data of that epoch are exhausted, so that the next position is in the next epoch
        self._epoch_exhausted = False
        self.seconds = 0.0
        # position of the resumed run, with the states of its callbacks
        self.resumed: TrainingPosition | None = None
        # batches per epoch in sink mode; None: epochs of the dataset
        self.sink: int | None = None
        # whether a callback saves asynchronously, so that copies may be pending during the next step
        self._has_async_checkpoint = any(getattr(each, "is_async", False) for each in callbacks.callbacks)
        # for live displays: seconds before the current epoch and its start (assigned atomically), the step before the
        # first one, the last loss and learning rate read
        self._timed: tuple[float, float | None] = (0.0, None)
        self._before = 0
        self.epochs = 0
        self.steps_in_epoch = int(params.get("batch_num") or 0)
        self.over = False
        self.loss: float | None = None
        self.learning_rate: float | None = None

    def position(self) -> TrainingPosition:
        """Position after the last step."""
        full = self.sink is not None and self.step_in_epoch >= self.sink
        epoch, steps = (
            (self.epoch + 1, 0) if self._epoch_exhausted or full else (self.epoch, self.step_in_epoch)
        )
        kept, values = callback_states(self.callbacks.callbacks), callback_tensors(self.callbacks.callbacks)
        values |= _outputs_to_values(self.params.get("net_outputs"))
        return TrainingPosition(epoch, self.params.cur_step_num, steps, self.feed.state(), kept, values)

    def run(
        self, first: int, last: int, done: int = 0, after_epoch: Callable[[], None] | None = None
    ) -> None:
        """Run epochs `first` to `last`, counted from 0; `done` steps of the first one are already done."""
        self._before, self.epochs = self.params.cur_step_num, last
        steps.register_training(self)
        try:
            self._run(first, last, done, after_epoch)
        finally:
            self.over = True
            wait_for_staging()

    def _run(self, first: int, last: int, done: int, after_epoch: Callable[[], None] | None) -> None:
        params, context, tell = self.params, self.context, self.callbacks.call
        tell("on_train_begin", context)
        if self.resumed is not None:
            # outputs of the last step: if it ended an epoch, the events at the end of the epoch still follow
            params.net_outputs = _outputs_from_values(self.resumed.values)
            load_callback_states(self.callbacks.callbacks, self.resumed.callbacks, self.resumed.values)
        for epoch in range(first, last):
            params.cur_epoch_num = epoch + 1
            self.epoch, self.step_in_epoch, done = epoch, done, 0
            self._epoch_exhausted = False
            tell("on_train_epoch_begin", context)
            self._epoch()
            wait_for_staging()  # the code below does not guard its writes
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
        self._timed = (self.seconds, began)
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
                self._epoch_exhausted = True
        self.seconds += time.perf_counter() - began
        self._timed = (self.seconds, None)

    def counts(self) -> steps.TrainingCounts:
        """Current counters; called from another thread, without device synchronization."""
        seconds, since = self._timed
        seconds += 0.0 if since is None else time.perf_counter() - since
        return steps.TrainingCounts(
            type(self.params.network).__name__,
            self._before + self.feed.batches_delivered,
            self.feed.batches_delivered,
            self.epoch + 1,
            self.epochs,
            self.steps_in_epoch,
            seconds,
            min(self.feed.wait_seconds, seconds),
            self.loss,
            self.learning_rate,
            self.over,
            self.feed.stats(),
        )

    def _step(self, batches: Iterable[Any], count: int) -> None:
        """One step for callbacks: one batch, or all batches of an epoch in sink mode."""
        params, callbacks = self.params, self.callbacks
        network = params["train_network"]
        params["cur_step_num"] += count
        begun, outputs = False, None
        for inputs in batches:
            if not begun:
                params["train_dataset_element"], begun = inputs, True
                _with_write_guard(callbacks.call, "on_train_step_begin", self.context)
                self._switch()
            outputs = network(*inputs) if not _pending_copies else _with_write_guard(network, *inputs)
            self.step_in_epoch += 1
        params["net_outputs"] = outputs
        if self._has_async_checkpoint:
            with guard_writes():
                callbacks.call("on_train_step_end", self.context)
        else:
            callbacks.call("on_train_step_end", self.context)


def _outputs_to_values(outputs: Any) -> dict[str, Tensor]:
    """Outputs of a step as named tensors, if they are small (a loss, not network outputs)."""
    parts = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
    if not all(isinstance(each, Tensor) and each.size <= FEW for each in parts):
        return {}
    if isinstance(outputs, Tensor):
        return {OUTPUT: outputs}
    return {f"{OUTPUT}.{index}": each for index, each in enumerate(parts)}


def _outputs_from_values(values: dict[str, Tensor]) -> Any:
    """Outputs of a step from named tensors; None if there are none."""
    parts = [value for name, value in values.items() if name.startswith(f"{OUTPUT}.")]
    return tuple(parts) if parts else values.get(OUTPUT)


def _with_write_guard(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function that may write to values with pending copies."""
    if not _pending_copies:
        return function(*args)
    with guard_writes():
        return function(*args)


def evaluate(
    params: CallbackParams,
    callbacks: CallbackList,
    feed: EpochIterator,
    switch: Switch,
    update: Callable[[Any], None],
    results: Callable[[], None],
) -> None:
    """Run an evaluation: `update` gets the outputs of each batch, `results` writes the results into `params`."""
    context, tell = RunContext(params), callbacks.call
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

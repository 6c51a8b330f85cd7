"""Callbacks that print loss and time: `LossMonitor`, `TimeMonitor`."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_bool, check_int

from .callback import Callback, RunContext
from .monitored_value import loss_of

__all__ = ["LossMonitor", "TimeMonitor"]


@public("train", "millrace")
class LossMonitor(Callback):
    """Prints the loss every `per_print_times` steps, and the metrics after an evaluation by ``Model.fit``.

    A NaN or infinite loss stops the training with a ValueError. It is checked at every step on a CPU, and with every
    print on a GPU, where reading the loss synchronizes.

    >>> from millrace._src.train.callbacks.callback import CallbackParams
    >>> params = CallbackParams(cur_epoch_num=1, cur_step_num=2, batch_num=10, net_outputs=Tensor(0.5))
    >>> LossMonitor().step_end(RunContext(params))
    epoch: 1 step: 2, loss is 0.5
    """

    def __init__(self, per_print_times: int = 1) -> None:
        self._per_print_times = check_int(per_print_times, "per_print_times", "LossMonitor", 0)
        self._last_print_time = 0

    @property
    def prints_steps(self) -> bool:
        """Whether it prints within an epoch; then no progress bar is shown."""
        return bool(self._per_print_times)

    def step_end(self, run_context: RunContext) -> None:
        """Print the loss if it is due."""
        params = run_context.original_args()
        while params.cur_step_num <= self._last_print_time:  # a new training
            self._last_print_time -= max(1, self._per_print_times)
        due = bool(self._per_print_times) and (
            params.cur_step_num - self._last_print_time >= self._per_print_times
        )
        if not due and _blocks_on_read(params.net_outputs):
            return
        loss = loss_of(params.net_outputs)
        epoch = params.get("cur_epoch_num", 1)  # evaluations have one epoch
        step = (params.cur_step_num - 1) % params.batch_num + 1
        if loss is not None and not np.all(np.isfinite(loss)):
            raise ArgumentValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, "
                "terminating training. What may help: a smaller learning rate, clipped gradients "
                "(ops.clip_by_global_norm), and a check of the batch for values that are not finite."
            )
        if due:
            self._last_print_time = params.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)  # noqa: T201

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Print the loss of a separate evaluation; within ``fit`` only results are printed."""
        if "cur_epoch_num" not in run_context.original_args():
            self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the metrics of the preceding evaluation, if any."""
        params = run_context.original_args()
        if params.get("metrics"):
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.metrics}")  # noqa: T201


def _blocks_on_read(outputs: Any) -> bool:
    """Whether reading the loss synchronizes a device."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    return isinstance(first, Tensor) and bool(first._torch.is_cuda)


@public("train", "millrace")
class TimeMonitor(Callback):
    """Prints the time of each epoch and step; with `data_time`, also the time of waiting for data.

    `data_size` is the number of steps if the training does not know it. The time of a training epoch excludes the
    evaluation after it (in MindSpore it is only the evaluation).

    >>> TimeMonitor(data_time=True).data_time
    True
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        self.data_size, self.data_time = data_size, check_bool(data_time, "data_time", "TimeMonitor")
        self._began: dict[str, float] = {}
        self._waited = self._left = 0.0
        self._ended: float | None = None

    def epoch_begin(self, run_context: RunContext) -> None:
        """Start the timer."""
        self._began[run_context.original_args().mode] = self._left = time.perf_counter()
        self._waited, self._ended = 0.0, None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Record the arrival of the data."""
        if self.data_time:
            self._waited += time.perf_counter() - self._left

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Record the start of waiting for data."""
        self._left = time.perf_counter()

    def on_eval_begin(self, run_context: RunContext) -> None:
        """End the time of the training epoch before the evaluation."""
        self._ended = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        """Print the times."""
        params = run_context.original_args()
        _synchronize(params.get("net_outputs"))
        now = time.perf_counter()
        if params.mode == "train" and self._ended is not None:
            now, self._ended = self._ended, None
        took = (now - self._began[params.mode]) * 1000
        steps = params.get("batch_num") or self.data_size or 1
        text = f"{params.mode.capitalize()} epoch time: {took:5.3f} ms, per step time: {took / steps:5.3f} ms"
        if self.data_time and params.mode == "train":
            text += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(text, flush=True)  # noqa: T201


def _synchronize(outputs: Any) -> None:
    """Synchronize the device."""
    if _blocks_on_read(outputs):
        import torch

        torch.cuda.synchronize()

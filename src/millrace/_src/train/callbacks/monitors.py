"""Callbacks that print: the loss, the time."""

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

    A loss that is infinite or no number ends the training with a ValueError. It is looked for at every step on a CPU,
    and with every print on a GPU, where each look would make the step wait.

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
        """Whether lines come while an epoch is under way: no progress line is drawn between them."""
        return bool(self._per_print_times)

    def step_end(self, run_context: RunContext) -> None:
        """Print the loss, if it is time."""
        params = run_context.original_args()
        while params.cur_step_num <= self._last_print_time:  # another training
            self._last_print_time -= max(1, self._per_print_times)
        due = bool(self._per_print_times) and (
            params.cur_step_num - self._last_print_time >= self._per_print_times
        )
        if not due and _blocks_on_read(params.net_outputs):
            return
        loss = loss_of(params.net_outputs)
        epoch = params.get("cur_epoch_num", 1)  # an evaluation has one
        step = (params.cur_step_num - 1) % params.batch_num + 1
        if loss is not None and not np.all(np.isfinite(loss)):
            raise ArgumentValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, "
                "terminating training. What may help: a smaller learning rate, clipped gradients "
                "(ops.clip_by_global_norm), and a look at the batch, whose numbers may not be finite themselves."
            )
        if due:
            self._last_print_time = params.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss}", flush=True)  # noqa: T201

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """Print the loss of an evaluation that stands alone; ``fit`` shows what its evaluations found, and no steps."""
        if "cur_epoch_num" not in run_context.original_args():
            self.step_end(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print the metrics of the evaluation that went before, if one did."""
        params = run_context.original_args()
        if params.get("metrics"):
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.metrics}")  # noqa: T201


def _blocks_on_read(outputs: Any) -> bool:
    """Whether reading the loss would wait for a device."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) and outputs else outputs
    return isinstance(first, Tensor) and bool(first._torch.is_cuda)


@public("train", "millrace")
class TimeMonitor(Callback):
    """Prints the time of each epoch and of a step in it; with `data_time`, of waiting for data too.

    `data_size` is the number of steps where the training does not know it. The time of a training epoch is its own:
    an evaluation that follows is not in it (in MindSpore it is nothing else).

    >>> TimeMonitor(data_time=True).data_time
    True
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        self.data_size, self.data_time = data_size, check_bool(data_time, "data_time", "TimeMonitor")
        self._began: dict[str, float] = {}
        self._waited = self._left = 0.0
        self._ended: float | None = None

    def epoch_begin(self, run_context: RunContext) -> None:
        """Start the clock."""
        self._began[run_context.original_args().mode] = self._left = time.perf_counter()
        self._waited, self._ended = 0.0, None

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """The step has its data."""
        if self.data_time:
            self._waited += time.perf_counter() - self._left

    def on_train_step_end(self, run_context: RunContext) -> None:
        """The step waits for its data."""
        self._left = time.perf_counter()

    def on_eval_begin(self, run_context: RunContext) -> None:
        """A training epoch has ended: its time is known, whatever the evaluation takes."""
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
    """Wait until the device has done what it was given."""
    if _blocks_on_read(outputs):
        import torch

        torch.cuda.synchronize()

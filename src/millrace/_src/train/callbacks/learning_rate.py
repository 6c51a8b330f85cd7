"""`LearningRateScheduler`, `History` and `LambdaCallback`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.backend.torch_private import tensor_version

from .callback import Callback, RunContext
from .monitored_value import learning_rate_parameter, set_learning_rate

__all__ = ["History", "LambdaCallback", "LearningRateScheduler"]


@public("train", "millrace")
class LearningRateScheduler(Callback):
    """Sets the learning rate after each step by a function of the current rate and the step number.

    >>> halved = LearningRateScheduler(lambda lr, step: lr / 2 if step % 1000 == 0 else lr)
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        if not callable(learning_rate_function):
            raise ArgumentTypeError(
                "For 'LearningRateScheduler', 'learning_rate_function' must be a function of a rate and a step, but "
                f"got {learning_rate_function!r}."
            )
        self.learning_rate_function = learning_rate_function
        # last learning rate read or written: it is read again only if it was changed elsewhere
        self._known: tuple[Any, int, float] | None = None

    def step_end(self, run_context: RunContext) -> None:
        """Call the function, and set the learning rate if it changed."""
        params = run_context.original_args()
        rate = learning_rate_parameter(params.optimizer)
        old = self._read(rate)
        new = self.learning_rate_function(old, params.cur_step_num)
        if not math.isclose(old, new, rel_tol=1e-10):
            set_learning_rate(rate, new)
            self._known = (rate, tensor_version(rate._torch), float(str(np.float32(new))))

    def _read(self, rate: Any) -> float:
        known = self._known
        if known is None or known[0] is not rate or known[1] != tensor_version(rate._torch):
            known = self._known = (rate, tensor_version(rate._torch), float(str(rate.asnumpy())))
        return known[2]


@public("train", "millrace")
class History(Callback):
    """Records the results of each epoch: ``history`` has a list per name (``net_output`` is the loss), ``epoch`` the
    epoch numbers.

    >>> history = History()
    >>> history.begin(RunContext({}))
    >>> history.history, history.epoch
    ({}, {'epoch': []})
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {"epoch": []}

    def begin(self, run_context: RunContext) -> None:
        """Restart the epoch count; the history of earlier trainings is kept."""
        self.epoch = {"epoch": []}

    def on_eval_begin(self, run_context: RunContext) -> None:
        """An evaluation adds to the training that it belongs to."""

    def epoch_end(self, run_context: RunContext) -> None:
        """Record the loss and the metrics."""
        params = run_context.original_args()
        self.epoch["epoch"].append(params.get("cur_epoch_num", 1))
        for name, value in {
            "net_output": _to_scalar(params.net_outputs),
            **(params.get("metrics") or {}),
        }.items():
            self.history.setdefault(name, []).append(value)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """Evaluation epochs are not recorded."""


def _to_scalar(outputs: Any) -> Any:
    if isinstance(outputs, (tuple, list)):
        return _to_scalar(outputs[0]) if outputs else None
    if isinstance(outputs, Tensor):
        array = outputs.asnumpy()
        return array if array.ndim else array[()]
    return outputs


@public("train", "millrace")
class LambdaCallback(Callback):
    """Callback from functions: each is called at its event with the run context.

    >>> LambdaCallback(on_train_begin=lambda context: print("here we go")).on_train_begin(None)
    here we go
    """

    def __init__(
        self,
        on_train_epoch_begin: Callable[[RunContext], Any] | None = None,
        on_train_epoch_end: Callable[[RunContext], Any] | None = None,
        on_train_step_begin: Callable[[RunContext], Any] | None = None,
        on_train_step_end: Callable[[RunContext], Any] | None = None,
        on_train_begin: Callable[[RunContext], Any] | None = None,
        on_train_end: Callable[[RunContext], Any] | None = None,
        on_eval_epoch_begin: Callable[[RunContext], Any] | None = None,
        on_eval_epoch_end: Callable[[RunContext], Any] | None = None,
        on_eval_step_begin: Callable[[RunContext], Any] | None = None,
        on_eval_step_end: Callable[[RunContext], Any] | None = None,
        on_eval_begin: Callable[[RunContext], Any] | None = None,
        on_eval_end: Callable[[RunContext], Any] | None = None,
    ) -> None:
        functions = {
            name: value for name, value in locals().items() if name.startswith("on_") and value is not None
        }
        for name, value in functions.items():
            if not callable(value):
                raise ArgumentTypeError(
                    f"For 'LambdaCallback', '{name}' must be a function of the run context, but got {value!r}."
                )
            setattr(self, name, value)

"""Callbacks that monitor a value after each epoch: stop early, or reduce the learning rate."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.log import get_logger
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_bool, check_int

from .callback import Callback, RunContext
from .monitored_value import improvement_test, learning_rate_parameter, monitored_value, set_learning_rate

__all__ = ["EarlyStopping", "ReduceLROnPlateau"]

log = get_logger(__name__)


@public("train", "millrace")
class EarlyStopping(Callback):
    """Stops a training when a value has not improved for `patience` epochs.

    `monitor` is a metric of the evaluation by ``Model.fit`` ("eval_loss" its loss), or "loss", that of the training.
    Losses and errors should fall, other values rise, or as set by `mode` ("min", "max"), by more than `min_delta`.
    (MindSpore treats every name but "loss" and "eval_loss" as a value that should rise.) With `baseline`, only values
    better than it reset the patience. `restore_best_weights` restores the weights of the best epoch on stopping;
    resumable checkpoints include these weights and are larger.

    >>> EarlyStopping(monitor="acc", patience=3).mode
    'auto'
    """

    state_attributes = ("wait", "best", "stopped_epoch")

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        owner = "EarlyStopping"
        self.monitor = check_argument_type(monitor, "monitor", owner, str)
        check_argument_type(min_delta, "min_delta", owner, float, int)
        self.min_delta = abs(min_delta)
        self.patience = check_int(patience, "patience", owner, 0)
        self.verbose = check_bool(verbose, "verbose", owner)
        self.mode = check_argument_type(mode, "mode", owner, str)
        if baseline is not None:
            check_argument_type(baseline, "baseline", owner, float, int)
        self.baseline = baseline
        self.restore_best_weights = check_bool(restore_best_weights, "restore_best_weights", owner)
        self._better, self._worst = improvement_test(mode, monitor, self.min_delta)
        self._parameters: list[Any] = []
        self._start()

    def _start(self) -> None:
        self.wait = self.stopped_epoch = 0
        self.best_weights: list[tuple[Any, Tensor]] = []
        self.best = self._worst

    def on_train_begin(self, run_context: RunContext) -> None:
        """Reset the monitored state."""
        self._start()
        network = run_context.original_args().get("train_network")
        self._parameters = [] if network is None else list(network.get_parameters())

    def state_tensors(self) -> dict[str, Tensor]:
        """The best weights by name."""
        return {parameter.name: kept for parameter, kept in self.best_weights}

    def load_state_tensors(self, values: dict[str, Tensor]) -> None:
        """Restore the best weights of the resumed run."""
        if not self.restore_best_weights:
            return
        if values:  # all except empty tensors, which files do not hold
            self.best_weights = [
                (each, values[each.name]) for each in self._parameters if each.name in values
            ]
            return
        if self.best == self._worst:
            return
        log.warning(
            "EarlyStopping(restore_best_weights=True): the run that is resumed had a best value of %s and kept no "
            "weights for it. What is best is looked for anew, from here on.",
            self.best,
        )
        self._start()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Check the value, and stop the training if it has not improved."""
        params = run_context.original_args()
        value = monitored_value(params, self.monitor, "EarlyStopping")
        if value is None:
            return
        if self.restore_best_weights and not self.best_weights:
            self._keep(params)
        if self._better(value, self.best):
            self.best = value
            if self.restore_best_weights:
                self._keep(params)
            if self.baseline is None or self._better(value, self.baseline):
                self.wait = 0
        else:
            self.wait += 1
        if self.wait >= self.patience:
            self.stopped_epoch = params.cur_epoch_num
            run_context.request_stop()
            if self.restore_best_weights:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.")  # noqa: T201
                for parameter, kept in self.best_weights:
                    parameter.set_data(kept)

    def _keep(self, params: Any) -> None:
        self.best_weights = [(each, each.copy()) for each in params.train_network.get_parameters()]

    def on_train_end(self, run_context: RunContext) -> None:
        """Print the epoch of an early stop."""
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping")  # noqa: T201


@public("train", "millrace")
class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when a value has not improved for `patience` epochs.

    After a reduction, `cooldown` epochs do not count; the rate never falls below `min_lr`. `monitor`, `mode` and
    `min_delta` are those of :class:`EarlyStopping`. The optimizer's learning rate must be a number, not a schedule.

    >>> ReduceLROnPlateau(monitor="eval_loss", factor=0.5, patience=2).factor
    0.5
    """

    state_attributes = ("wait", "best", "cooldown_counter")

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        owner = "ReduceLROnPlateau"
        self.monitor = check_argument_type(monitor, "monitor", owner, str)
        if not isinstance(factor, float):
            raise ArgumentTypeError(
                f"For '{owner}', 'factor' must be 'float', but got '{type(factor).__name__}'."
            )
        if not 0.0 < factor < 1.0:
            raise ArgumentValueError(
                f"For '{owner}', 'factor' must be in range of (0.0, 1.0), but got {factor} with type 'float'."
            )
        self.factor = factor
        self.patience = check_int(patience, "patience", owner, 0)
        self.verbose = check_bool(verbose, "verbose", owner)
        self.mode = check_argument_type(mode, "mode", owner, str)
        check_argument_type(min_delta, "min_delta", owner, float, int)
        self.min_delta = abs(min_delta)
        self.cooldown = check_int(cooldown, "cooldown", owner, 0)
        check_argument_type(min_lr, "min_lr", owner, float, int)
        self.min_lr = min_lr
        self._better, self._worst = improvement_test(mode, monitor, self.min_delta)
        self._start()

    def _start(self) -> None:
        self.wait = self.cooldown_counter = 0
        self.best = self._worst

    def on_train_begin(self, run_context: RunContext) -> None:
        """Reset the monitored state."""
        self._start()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Check the value, and reduce the learning rate if it has not improved."""
        params = run_context.original_args()
        value = monitored_value(params, self.monitor, "ReduceLROnPlateau")
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._better(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter == 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(params)

    def _reduce(self, params: Any) -> None:
        rate = learning_rate_parameter(params.optimizer)
        # the shortest digits of the float32, not those of its double
        old = float(str(rate.asnumpy()))
        if old <= self.min_lr:
            return
        new = max(old * self.factor, self.min_lr)
        set_learning_rate(rate, new)
        if self.verbose:
            print(  # noqa: T201
                f"Epoch {params.cur_epoch_num:05d}: ReduceLROnPlateau reducing learning rate to {new}."
            )
        self.cooldown_counter, self.wait = self.cooldown, 0

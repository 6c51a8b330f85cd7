"""``ReduceLROnPlateau``."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.parameter import Parameter

from .scheduler import check_optimizer

__all__ = ["ReduceLROnPlateau"]


@public("experimental.optim.lr_scheduler")
class ReduceLROnPlateau:
    """Multiply the rates by `factor` if the metric passed to ``step`` has not improved for `patience` calls.

    >>> from millrace.experimental.optim import SGD
    >>> optimizer = SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0)
    >>> scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> [scheduler.step(loss) and scheduler.get_last_lr()[0].item() for loss in (3.0, 2.0, 2.0, 2.0, 2.0)]
    [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ArgumentValueError("The lr factor should be less than 1.0.")
        check_optimizer(optimizer)
        count = len(optimizer.param_groups)
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ArgumentValueError(f"Expected {count} min_lrs, got {len(min_lr)}")
            least = list(min_lr)
        else:
            least = [min_lr] * count
        if mode not in ("min", "max"):
            raise ArgumentValueError(f"`mode` should be 'min' or 'max', but got {mode}.")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentValueError(f"`threshold mode` should be 'rel' or 'abs', but got {threshold_mode}.")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = (
            threshold,
            threshold_mode,
            cooldown,
            eps,
        )
        self.min_lrs = [Tensor(float(rate), float32) for rate in least]
        self.mode_worse = float("inf") if mode == "min" else float("-inf")
        self.last_epoch: Any = Parameter(Tensor(0, int32), name="last_epoch_ReduceLROnPlateau")
        self.best = Parameter(Tensor(self.mode_worse, float32), name="best")
        self.cooldown_counter = Parameter(Tensor(0.0, float32), name="cooldown_counter")
        self.wait = Parameter(Tensor(0.0, float32), name="wait")
        self._last_lr = list(optimizer.lrs)

    def step(self, metrics: Any) -> bool:
        """Record a metric and reduce the rates if it has stopped improving."""
        current = float(metrics.item()) if isinstance(metrics, Tensor) else float(metrics)
        self.last_epoch.set_data(self.last_epoch + 1)
        wait, resting = float(self.wait.item()), float(self.cooldown_counter.item())
        if self._is_improvement(current, float(self.best.item())):
            self.best.set_data(Tensor(current, float32))
            wait = 0.0
        else:
            wait += 1
        if resting > 0:
            resting, wait = resting - 1, 0.0
        if wait > self.patience:
            self._reduce()
            resting, wait = float(self.cooldown), 0.0
        self.wait.set_data(Tensor(wait, float32))
        self.cooldown_counter.set_data(Tensor(resting, float32))
        return True

    def _reduce(self) -> None:
        for kept, least in zip(self._last_lr, self.min_lrs, strict=True):
            old = float(kept.item())
            new = max(old * self.factor, float(least.item()))
            if old > new + self.eps:
                kept.set_data(Tensor(new, float32))

    def in_cooldown(self) -> bool:
        """Whether the metric is ignored because of a recent reduction."""
        return bool(self.cooldown_counter.item() > 0)

    def _is_improvement(self, current: float, best: float) -> bool:
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            mark = best * (1.0 + sign * self.threshold)
        else:
            mark = best + sign * self.threshold
        return current < mark if self.mode == "min" else current > mark

    def get_last_lr(self) -> list[Tensor]:
        """The current rates."""
        return [Tensor(rate.asnumpy().copy()) for rate in self._last_lr]

"""How the loss is scaled in a ``Model``: by a fixed number, or by one that follows the gradients."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_positive_int
from millrace._src.runtime.nn.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


@public("train", "amp", "millrace")
class LossScaleManager:
    """Base of what scales losses; write the three methods for one of your own.

    >>> LossScaleManager().get_update_cell() is None
    True
    """

    def get_loss_scale(self) -> Any:
        """The scale."""

    def update_loss_scale(self, overflow: Any) -> None:
        """Another scale, after a step that overflowed or did not."""

    def get_update_cell(self) -> Any:
        """The cell that changes the scale inside of a step, or None where it stays."""


@public("train", "amp", "millrace")
class FixedLossScaleManager(LossScaleManager):
    """The loss times a fixed number. With `drop_overflow_update` a step whose gradients overflow changes no weight.

    Without it, give the optimizer the same ``loss_scale``, which divides the gradients again.

    >>> FixedLossScaleManager(128.0).get_loss_scale()
    128.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        _check_scale(loss_scale, "loss_scale", ">= 1")
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether a step that overflows is dropped."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: Any) -> None:
        """The scale stays."""

    def get_update_cell(self) -> Any:
        """A cell that leaves the scale, or None where no step is dropped."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


@public("train", "amp", "millrace")
class DynamicLossScaleManager(LossScaleManager):
    """The loss times a number that shrinks after an overflow, and grows after `scale_window` steps without one.

    >>> manager = DynamicLossScaleManager(init_loss_scale=8, scale_factor=2, scale_window=1)
    >>> manager.update_loss_scale(True)
    >>> manager.get_loss_scale()
    4.0
    """

    def __init__(
        self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000
    ) -> None:
        _check_scale(init_loss_scale, "init_loss_scale", "> 1")
        check_positive_int(scale_window, "scale_window", "DynamicLossScaleManager")
        if not scale_factor > 0:
            raise ArgumentValueError(
                f"For 'DynamicLossScaleManager', the 'scale_factor' must be > 0, but got {scale_factor}."
            )
        self.loss_scale = init_loss_scale
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.increase_ratio, self.decrease_ratio = scale_factor, 1 / scale_factor
        self.cur_iter, self.last_overflow_iter = 1, 0

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale

    def update_loss_scale(self, overflow: Any) -> None:
        """Smaller after an overflow, larger after a row of steps without one, at least 1."""
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.loss_scale *= self.increase_ratio
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """A step that overflows is dropped."""
        return True

    def get_update_cell(self) -> Any:
        """The cell that changes the scale inside of a step."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def _check_scale(value: Any, name: str, expected: str) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ArgumentTypeError(f"The argument '{name}' must be a number, but got {type(value).__name__}.")
    if value < 1:
        raise ArgumentValueError(f"The argument '{name}' must be {expected}, but got {value}")

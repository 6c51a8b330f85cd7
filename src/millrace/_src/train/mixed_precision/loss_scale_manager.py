"""Loss scale managers of ``Model``: fixed and dynamic."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_positive_int
from millrace._src.runtime.nn.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell

__all__ = ["DynamicLossScaleManager", "FixedLossScaleManager", "LossScaleManager"]


@public("train", "amp", "millrace")
class LossScaleManager:
    """Base class of loss scale managers; a custom manager implements the three methods.

    >>> LossScaleManager().get_update_cell() is None
    True
    """

    def get_loss_scale(self) -> Any:
        """The scale."""

    def update_loss_scale(self, overflow: Any) -> None:
        """Update the scale after a step with or without overflow."""

    def get_update_cell(self) -> Any:
        """The cell that updates the scale in a step; None for a constant scale."""


@public("train", "amp", "millrace")
class FixedLossScaleManager(LossScaleManager):
    """Fixed loss scale. With `drop_overflow_update` steps with overflowing gradients are skipped.

    Without it, pass the same ``loss_scale`` to the optimizer, which unscales the gradients.

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
        """Whether steps with overflow are skipped."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: Any) -> None:
        """The scale is constant."""

    def get_update_cell(self) -> Any:
        """A cell that keeps the scale; None if no step is skipped."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


@public("train", "amp", "millrace")
class DynamicLossScaleManager(LossScaleManager):
    """Dynamic loss scale: divided after an overflow, multiplied after `scale_window` steps without one.

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
        """Decrease after an overflow, increase after `scale_window` steps without one; at least 1."""
        if overflow:
            self.loss_scale = max(self.loss_scale * self.decrease_ratio, 1)
            self.last_overflow_iter = self.cur_iter
        elif (self.cur_iter - self.last_overflow_iter) % self.scale_window == 0:
            self.loss_scale *= self.increase_ratio
        self.cur_iter += 1

    def get_drop_overflow_update(self) -> bool:
        """Steps with overflow are skipped."""
        return True

    def get_update_cell(self) -> Any:
        """The cell that updates the scale in a step."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)


def _check_scale(value: Any, name: str, expected: str) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ArgumentTypeError(f"The argument '{name}' must be a number, but got {type(value).__name__}.")
    if value < 1:
        raise ArgumentValueError(f"The argument '{name}' must be {expected}, but got {value}")

"""Learning-rate schedules as Cells: called with the step number, they return the rate. They are part of a
captured step.
"""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float, check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.math.arithmetic import maximum, minimum
from millrace._src.runtime.ops.math.arithmetic import pow as pow_op
from millrace._src.runtime.ops.math.elementwise_unary import ceil, exp, floor
from millrace._src.runtime.ops.math.trigonometric import cos

__all__ = [
    "CosineDecayLR",
    "ExponentialDecayLR",
    "InverseDecayLR",
    "LearningRateSchedule",
    "NaturalExpDecayLR",
    "PolynomialDecayLR",
    "WarmUpLR",
]


class LearningRateSchedule(Cell):
    """Base class of dynamic learning rates: implement ``construct``, which gets the step number as a tensor.

    >>> class Halving(LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5 ** global_step.astype("float32")
    >>> Halving()(Tensor(3)).item()
    0.125
    """

    def construct(self, global_step: Any) -> Any:
        """The rate of a step; every schedule implements it."""
        raise NotImplementedError("a learning rate schedule must have a method construct(global_step)")


def _as_float_step(step: Any) -> Any:
    """The step number in the dtype of rates."""
    return cast(step, float32) if isinstance(step, Tensor) else Tensor(float(step), float32)


class _Decay(LearningRateSchedule):
    """Shared arguments of three decay schedules."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.decay_steps = check_positive_int(decay_steps, "decay_steps", owner)
        self.learning_rate = check_float(learning_rate, "learning_rate", owner)
        self.decay_rate = check_float(decay_rate, "decay_rate", owner)
        self.is_stair = check_argument_type(is_stair, "is_stair", owner, bool)

    def _elapsed_periods(self, step: Any) -> Any:
        """The number of elapsed `decay_steps`; rounded down with `is_stair`."""
        passed = _as_float_step(step) / self.decay_steps
        return floor(passed) if self.is_stair else passed


@public("nn")
class ExponentialDecayLR(_Decay):
    """Exponential decay: ``learning_rate * decay_rate ** (step / decay_steps)``; with `is_stair` the exponent
    is an integer.

    >>> rate = ExponentialDecayLR(0.1, 0.9, 4)
    >>> round(rate(Tensor(2)).item(), 6)
    0.094868
    """

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate * pow_op(self.decay_rate, self._elapsed_periods(global_step))


@public("nn")
class NaturalExpDecayLR(_Decay):
    """Natural exponential decay: ``learning_rate * exp(-decay_rate * step)``; with `is_stair` the step is a
    multiple of `decay_steps`.

    >>> round(NaturalExpDecayLR(0.1, 0.9, 4)(Tensor(2)).item(), 6)
    0.01653
    """

    def construct(self, global_step: Any) -> Any:
        step = (
            self._elapsed_periods(global_step) * self.decay_steps
            if self.is_stair
            else _as_float_step(global_step)
        )
        return self.learning_rate * exp(-self.decay_rate * step)


@public("nn")
class InverseDecayLR(_Decay):
    """Inverse-time decay: ``learning_rate / (1 + decay_rate * step / decay_steps)``; with `is_stair` the
    quotient is an integer.

    >>> round(InverseDecayLR(0.1, 0.9, 4)(Tensor(2)).item(), 6)
    0.068966
    """

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate / (1 + self.decay_rate * self._elapsed_periods(global_step))


@public("nn")
class CosineDecayLR(LearningRateSchedule):
    """Cosine decay from `max_lr` to `min_lr` in `decay_steps`, then `min_lr`.

    >>> round(CosineDecayLR(0.01, 0.1, 4)(Tensor(2)).item(), 6)
    0.055
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        if not isinstance(min_lr, float):
            raise ArgumentTypeError(
                f"For 'CosineDecayLR', the argument 'min_lr' must be type of float, but got {type(min_lr)}."
            )
        self.min_lr = check_float(min_lr, "min_lr", "CosineDecayLR", zero=True)
        self.max_lr = check_float(max_lr, "max_lr", "CosineDecayLR")
        self.decay_steps = check_positive_int(decay_steps, "decay_steps", "CosineDecayLR")
        check_min_below_max(min_lr, max_lr, "CosineDecayLR")

    def construct(self, global_step: Any) -> Any:
        step = minimum(_as_float_step(global_step), float(self.decay_steps))
        wave = 1.0 + cos(step * (math.pi / self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * wave


@public("nn")
class PolynomialDecayLR(LearningRateSchedule):
    """Polynomial decay from `learning_rate` to `end_learning_rate` in `decay_steps`.

    With `update_decay_steps` the decay restarts over a longer period at its end.

    >>> round(PolynomialDecayLR(0.1, 0.01, 4, 0.5)(Tensor(2)).item(), 6)
    0.07364
    """

    def __init__(
        self,
        learning_rate: float,
        end_learning_rate: float,
        decay_steps: int,
        power: float,
        update_decay_steps: bool = False,
    ) -> None:
        super().__init__()
        owner = "PolynomialDecayLR"
        self.learning_rate = check_float(learning_rate, "learning_rate", owner)
        if not isinstance(end_learning_rate, float):
            raise ArgumentTypeError(
                f"For '{owner}', the argument 'end_learning_rate' must be type of float, "
                f"but got {type(end_learning_rate)}."
            )
        self.end_learning_rate = check_float(end_learning_rate, "end_learning_rate", owner, zero=True)
        self.decay_steps = check_positive_int(decay_steps, "decay_steps", owner)
        self.update_decay_steps = check_argument_type(update_decay_steps, "update_decay_steps", owner, bool)
        self.power = check_float(power, "power", owner)

    def construct(self, global_step: Any) -> Any:
        step, stretch = _as_float_step(global_step), float(self.decay_steps)
        if self.update_decay_steps:
            total_steps: Any = stretch * maximum(ceil(step / stretch), 1.0)
        else:
            step, total_steps = minimum(step, stretch), stretch
        remaining = pow_op(1.0 - step / total_steps, self.power)
        return (self.learning_rate - self.end_learning_rate) * remaining + self.end_learning_rate


@public("nn")
class WarmUpLR(LearningRateSchedule):
    """Linear warm-up from 0 to `learning_rate` in `warmup_steps`, then constant.

    >>> round(WarmUpLR(0.1, 4)(Tensor(1)).item(), 6)
    0.025
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        if not isinstance(learning_rate, float):
            raise ArgumentTypeError(
                "For 'WarmUpLR', the argument 'learning_rate' must be type of float, but got 'learning_rate' type: "
                f"{type(learning_rate)}."
            )
        self.learning_rate = check_float(learning_rate, "learning_rate", "WarmUpLR", zero=True)
        self.warmup_steps = check_positive_int(warmup_steps, "warmup_steps", "WarmUpLR")

    def construct(self, global_step: Any) -> Any:
        step = minimum(_as_float_step(global_step), float(self.warmup_steps))
        return self.learning_rate * (step / self.warmup_steps)


def check_min_below_max(low: float, high: float, owner: str) -> None:
    """Check that the largest rate is above the smallest."""
    if low >= high:
        raise ArgumentValueError(
            f"For '{owner}', the 'max_lr' must be greater than the 'min_lr', but got 'max_lr' value: {high}, "
            f"'min_lr' value: {low}."
        )

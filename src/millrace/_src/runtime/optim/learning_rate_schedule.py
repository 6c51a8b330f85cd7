"""Learning rates as cells: called with the number of a step, they give its rate. They are part of a recorded step."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_float, check_kind, check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.cast import cast
from millrace._src.runtime.ops.math.elementwise_unary import ceil, exp, floor
from millrace._src.runtime.ops.math.pairs import maximum, minimum
from millrace._src.runtime.ops.math.pairs import pow as pow_op
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
    """The base of learning rates that change: write ``construct``, which gets the number of the step as a tensor.

    >>> class Halving(LearningRateSchedule):
    ...     def construct(self, global_step):
    ...         return 0.5 ** global_step.astype("float32")
    >>> Halving()(Tensor(3)).item()
    0.125
    """

    def construct(self, global_step: Any) -> Any:
        """The rate of a step; every schedule writes its own."""
        raise NotImplementedError("a learning rate schedule must have a method construct(global_step)")


def _number(step: Any) -> Any:
    """The number of a step, in the type of rates."""
    return cast(step, float32) if isinstance(step, Tensor) else Tensor(float(step), float32)


class _Decay(LearningRateSchedule):
    """What three of the decays are made with."""

    def __init__(
        self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.decay_steps = check_positive_int(decay_steps, "decay_steps", owner)
        self.learning_rate = check_float(learning_rate, "learning_rate", owner)
        self.decay_rate = check_float(decay_rate, "decay_rate", owner)
        self.is_stair = check_kind(is_stair, "is_stair", owner, bool)

    def _passed(self, step: Any) -> Any:
        """How many times `decay_steps` have passed; whole ones only, where it goes by stairs."""
        passed = _number(step) / self.decay_steps
        return floor(passed) if self.is_stair else passed


@public("nn")
class ExponentialDecayLR(_Decay):
    """``learning_rate * decay_rate ** (step / decay_steps)``; with `is_stair` the exponent is a whole number.

    >>> rate = ExponentialDecayLR(0.1, 0.9, 4)
    >>> round(rate(Tensor(2)).item(), 6)
    0.094868
    """

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate * pow_op(self.decay_rate, self._passed(global_step))


@public("nn")
class NaturalExpDecayLR(_Decay):
    """``learning_rate * exp(-decay_rate * step)``; with `is_stair` the step is a multiple of `decay_steps`.

    >>> round(NaturalExpDecayLR(0.1, 0.9, 4)(Tensor(2)).item(), 6)
    0.01653
    """

    def construct(self, global_step: Any) -> Any:
        step = self._passed(global_step) * self.decay_steps if self.is_stair else _number(global_step)
        return self.learning_rate * exp(-self.decay_rate * step)


@public("nn")
class InverseDecayLR(_Decay):
    """``learning_rate / (1 + decay_rate * step / decay_steps)``; with `is_stair` the quotient is a whole number.

    >>> round(InverseDecayLR(0.1, 0.9, 4)(Tensor(2)).item(), 6)
    0.068966
    """

    def construct(self, global_step: Any) -> Any:
        return self.learning_rate / (1 + self.decay_rate * self._passed(global_step))


@public("nn")
class CosineDecayLR(LearningRateSchedule):
    """Half a wave of the cosine from `max_lr` down to `min_lr` in `decay_steps`, and `min_lr` from then on.

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
        check_rising(min_lr, max_lr, "CosineDecayLR")

    def construct(self, global_step: Any) -> Any:
        step = minimum(_number(global_step), float(self.decay_steps))
        wave = 1.0 + cos(step * (math.pi / self.decay_steps))
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * wave


@public("nn")
class PolynomialDecayLR(LearningRateSchedule):
    """A power of what is left of `decay_steps`, from `learning_rate` to `end_learning_rate`.

    With `update_decay_steps` the decay begins anew over a longer stretch when it came to its end.

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
        self.update_decay_steps = check_kind(update_decay_steps, "update_decay_steps", owner, bool)
        self.power = check_float(power, "power", owner)

    def construct(self, global_step: Any) -> Any:
        step, stretch = _number(global_step), float(self.decay_steps)
        if self.update_decay_steps:
            whole: Any = stretch * maximum(ceil(step / stretch), 1.0)
        else:
            step, whole = minimum(step, stretch), stretch
        left = pow_op(1.0 - step / whole, self.power)
        return (self.learning_rate - self.end_learning_rate) * left + self.end_learning_rate


@public("nn")
class WarmUpLR(LearningRateSchedule):
    """From 0 to `learning_rate` in equal steps, and that from then on.

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
        step = minimum(_number(global_step), float(self.warmup_steps))
        return self.learning_rate * (step / self.warmup_steps)


def check_rising(low: float, high: float, owner: str) -> None:
    """A largest rate that is above the smallest."""
    if low >= high:
        raise ArgumentValueError(
            f"For '{owner}', the 'max_lr' must be greater than the 'min_lr', but got 'max_lr' value: {high}, "
            f"'min_lr' value: {low}."
        )

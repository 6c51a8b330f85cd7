"""Learning-rate schedules as lists: one rate per step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float, check_positive_int

from .learning_rate_schedule import check_min_below_max

__all__ = [
    "cosine_decay_lr",
    "exponential_decay_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
    "piecewise_constant_lr",
    "polynomial_decay_lr",
    "warmup_lr",
]


@public("nn")
def piecewise_constant_lr(milestone: Any, learning_rates: Any) -> list[float]:
    """Piecewise constant schedule: the first rate up to the first milestone, and so on.

    >>> piecewise_constant_lr([2, 5], [0.1, 0.05])
    [0.1, 0.1, 0.05, 0.05, 0.05]
    """
    for name, value in (("milestone", milestone), ("learning_rates", learning_rates)):
        if not isinstance(value, (tuple, list)):
            raise ArgumentTypeError(
                f"The type of '{name}' should be one of '['tuple', 'list']', but got type '{type(value).__name__}'."
            )
    if len(milestone) != len(learning_rates):
        raise ArgumentValueError(
            "For 'piecewise_constant_lr', the size of 'milestone' must be same with the size of 'learning_rates', but "
            f"got 'milestone' size: {len(milestone)}, 'learning_rates' size: {len(learning_rates)}."
        )
    rates: list[float] = []
    for number, (end, rate) in enumerate(zip(milestone, learning_rates, strict=True)):
        check_positive_int(end, f"milestone[{number}]", "")
        if not isinstance(rate, float):
            raise ArgumentTypeError(
                f"The type of 'learning_rates[{number}]' must be 'float', but got '{type(rate).__name__}'."
            )
        if end < len(rates):
            raise ArgumentValueError(
                f"For 'piecewise_constant_lr', the value of milestone[{number}] must be greater than "
                f"milestone[{number - 1}], but got milestone[{number}]: {end}, milestone[{number - 1}]: {len(rates)}."
            )
        rates += [rate] * (end - len(rates))
    return rates


def _step_range(total_step: Any, step_per_epoch: Any, epochs: Any, name: str = "decay_epoch") -> range:
    check_positive_int(total_step, "total_step", "")
    check_positive_int(step_per_epoch, "step_per_epoch", "")
    check_positive_int(epochs, name, "")
    return range(total_step)


def _decay_rates(
    formula: Callable[[int], float],
    learning_rate: Any,
    decay_rate: Any,
    total_step: Any,
    step_per_epoch: Any,
    decay_epoch: Any,
    is_stair: Any,
) -> list[float]:
    """`learning_rate` times a function of the epoch of each step."""
    steps = _step_range(total_step, step_per_epoch, decay_epoch)
    check_float(learning_rate, "learning_rate", "")
    check_float(decay_rate, "decay_rate", "")
    check_argument_type(is_stair, "is_stair", "", bool)
    return [learning_rate * formula(math.floor(step / step_per_epoch)) for step in steps]


@public("nn")
def exponential_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Exponential decay: ``learning_rate * decay_rate ** (epoch / decay_epoch)`` per step.

    >>> [round(rate, 4) for rate in exponential_decay_lr(0.1, 0.9, 6, 2, 1)]
    [0.1, 0.1, 0.09, 0.09, 0.081, 0.081]
    """
    return _decay_rates(
        lambda epoch: decay_rate ** (math.floor(epoch / decay_epoch) if is_stair else epoch / decay_epoch),
        learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair,
    )  # fmt: skip


@public("nn")
def natural_exp_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Natural exponential decay: ``learning_rate * exp(-decay_rate * epoch)`` per step; with `is_stair` in
    multiples of `decay_epoch`.

    >>> [round(rate, 4) for rate in natural_exp_decay_lr(0.1, 0.9, 6, 2, 2, True)]
    [0.1, 0.1, 0.1, 0.1, 0.0165, 0.0165]
    """
    return _decay_rates(
        lambda epoch: math.exp(-decay_rate * (epoch // decay_epoch * decay_epoch if is_stair else epoch)),
        learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair,
    )  # fmt: skip


@public("nn")
def inverse_decay_lr(
    learning_rate: float,
    decay_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:
    """Inverse-time decay: ``learning_rate / (1 + decay_rate * epoch / decay_epoch)`` per step.

    >>> [round(rate, 4) for rate in inverse_decay_lr(0.1, 0.5, 6, 1, 1, True)]
    [0.1, 0.0667, 0.05, 0.04, 0.0333, 0.0286]
    """
    return _decay_rates(
        lambda epoch: 1 / (1 + decay_rate * (epoch // decay_epoch if is_stair else epoch / decay_epoch)),
        learning_rate, decay_rate, total_step, step_per_epoch, decay_epoch, is_stair,
    )  # fmt: skip


@public("nn")
def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """Cosine decay from `max_lr` to `min_lr` in `decay_epoch` epochs, then `min_lr`.

    >>> [round(rate, 4) for rate in cosine_decay_lr(0.01, 0.1, 6, 2, 2)]
    [0.1, 0.1, 0.055, 0.055, 0.01, 0.01]
    """
    if not isinstance(min_lr, float):
        raise ArgumentTypeError(
            f"For 'cosine_decay_lr', the argument 'min_lr' must be type of float, but got type {type(min_lr)}."
        )
    check_float(min_lr, "min_lr", "", zero=True)
    check_float(max_lr, "max_lr", "")
    steps = _step_range(total_step, step_per_epoch, decay_epoch)
    check_min_below_max(min_lr, max_lr, "cosine_decay_lr")
    half = 0.5 * (max_lr - min_lr)
    epochs = (min(step // step_per_epoch, decay_epoch) for step in steps)
    return [min_lr + half * (1 + math.cos(math.pi * epoch / decay_epoch)) for epoch in epochs]


@public("nn")
def polynomial_decay_lr(
    learning_rate: float,
    end_learning_rate: float,
    total_step: int,
    step_per_epoch: int,
    decay_epoch: int,
    power: float,
    update_decay_epoch: bool = False,
) -> list[float]:
    """Polynomial decay from `learning_rate` to `end_learning_rate` in `decay_epoch` epochs.

    >>> [round(rate, 4) for rate in polynomial_decay_lr(0.1, 0.01, 6, 2, 2, 0.5)]
    [0.1, 0.1, 0.0736, 0.0736, 0.01, 0.01]
    """
    if not isinstance(end_learning_rate, float):
        raise ArgumentTypeError(
            "For 'polynomial_decay_lr', the argument 'end_learning_rate' must be type of float, but got "
            f"'end_learning_rate' type: {type(end_learning_rate)}."
        )
    check_float(learning_rate, "learning_rate", "")
    check_float(end_learning_rate, "end_learning_rate", "", zero=True)
    check_float(power, "power", "")
    steps = _step_range(total_step, step_per_epoch, decay_epoch)
    check_argument_type(update_decay_epoch, "update_decay_epoch", "polynomial_decay_lr", bool)
    rates = []
    for step in steps:
        epoch, whole = step // step_per_epoch, decay_epoch
        if update_decay_epoch:
            whole = decay_epoch * max(math.ceil(epoch / decay_epoch), 1)
        epoch = min(epoch, whole)
        rates.append((learning_rate - end_learning_rate) * (1 - epoch / whole) ** power + end_learning_rate)
    return rates


@public("nn")
def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """Linear warm-up from 0 to `learning_rate`, per epoch.

    >>> [round(rate, 4) for rate in warmup_lr(0.1, 6, 2, 2)]
    [0.0, 0.0, 0.05, 0.05, 0.1, 0.1]
    """
    if not isinstance(learning_rate, float):
        raise ArgumentTypeError(
            "For 'warmup_lr', the argument 'learning_rate' must be type of float, but got 'learning_rate' type: "
            f"{type(learning_rate)}."
        )
    check_float(learning_rate, "learning_rate", "", zero=True)
    steps = _step_range(total_step, step_per_epoch, warmup_epoch, "warmup_epoch")
    return [learning_rate * min(step // step_per_epoch, warmup_epoch) / warmup_epoch for step in steps]

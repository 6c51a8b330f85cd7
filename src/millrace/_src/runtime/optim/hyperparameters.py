"""Hyperparameters of optimizers: learning rate and weight decay as Parameters and Cells."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_float
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.optim.learning_rate_schedule import LearningRateSchedule
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import unwrap, wrap

__all__ = [
    "ConstantSchedule",
    "TableSchedule",
    "ScaledWeightDecay",
    "make_learning_rate",
    "is_per_step",
    "parse_weight_decay",
    "parse_learning_rate",
]


class ConstantSchedule(LearningRateSchedule):
    """A constant rate, for groups with other rates that change."""

    def __init__(self, learning_rate: Parameter) -> None:
        super().__init__()
        self.learning_rate = learning_rate

    def construct(self, global_step: Any) -> Any:
        # MindSpore adds 1 and subtracts it, which turns a rate of 0.001 into 0.00100005
        return self.learning_rate.value()


class TableSchedule(LearningRateSchedule):
    """A rate per step; after the end of the list the last rate applies."""

    def __init__(self, learning_rate: Tensor, name: str) -> None:
        super().__init__()
        self.learning_rate = Parameter(learning_rate, name)

    def construct(self, global_step: Any) -> Any:
        rates = self.learning_rate._torch
        step = torch.as_tensor(unwrap(global_step), device=rates.device)
        return wrap(rates[step.clamp(max=rates.shape[0] - 1).long()])


class ScaledWeightDecay(Cell):
    """A dynamic weight decay, scaled with the gradients."""

    def __init__(self, weight_decay: Cell, loss_scale: float) -> None:
        super().__init__()
        self.weight_decay, self.loss_scale = weight_decay, loss_scale

    def construct(self, global_step: Any) -> Any:
        return self.weight_decay(global_step) * self.loss_scale


def parse_learning_rate(rate: Any, owner: str) -> Any:
    """A rate as a float, a float32 tensor of 0 or 1 axes, or a schedule."""
    if isinstance(rate, (float, int)):
        return check_float(float(rate), "learning rate", owner, zero=True)
    if isinstance(rate, LearningRateSchedule):
        return rate
    if isinstance(rate, Tensor):
        if rate.ndim > 1:
            raise ArgumentValueError(
                "For 'Optimizer', if 'learning_rate' is Tensor type, then the dimension of it should be 0 or 1, "
                f"but got {rate.ndim}."
            )
        rate_tensor = Tensor(rate.asnumpy().astype(np.float32))
    elif isinstance(rate, Iterable):
        try:
            rate_tensor = Tensor(np.array(list(rate)).astype(np.float32))
        except ValueError:
            raise ArgumentValueError(
                f"For 'Optimizer', the argument 'learning_rate' must be a number, or one for each step, "
                f"but got {rate!r}."
            ) from None
    else:
        raise ArgumentTypeError(
            "For 'Optimizer', the argument 'learning_rate' must be int, float, Tensor, Iterable or "
            f"LearningRateSchedule, but got {type(rate)}."
        )
    if is_per_step(rate_tensor) and rate_tensor.size < 2:
        warnings.warn(
            "For 'Optimizer', a learning rate for each step should have more than one element, "
            f"but got {rate_tensor.size}; pass a number for a constant rate",
            UserWarning,
            stacklevel=4,
        )
    return rate_tensor


def is_per_step(rate: Any) -> bool:
    """Whether a parsed rate has one value per step."""
    return isinstance(rate, Tensor) and rate.ndim == 1


def make_learning_rate(rate: Any, name: str, among_cells: bool) -> Any:
    """The Parameter or Cell that an optimizer holds for a parsed rate."""
    if is_per_step(rate):
        return TableSchedule(rate, name)
    if isinstance(rate, (float, Tensor)):
        parameter = Parameter(Tensor(rate, float32) if isinstance(rate, float) else rate, name)
        return ConstantSchedule(parameter) if among_cells else parameter
    return rate


def parse_weight_decay(decay: Any, loss_scale: float, owner: str) -> float | ScaledWeightDecay:
    """A weight decay, scaled with the gradients."""
    if isinstance(decay, (float, int)):
        return check_float(float(decay), "weight_decay", owner, zero=True) * loss_scale
    if isinstance(decay, Cell):
        return ScaledWeightDecay(decay, loss_scale)
    raise ArgumentTypeError(
        f"For 'Optimizer', the argument 'Weight_decay' must be int, float or Cell.but got {type(decay)}"
    )

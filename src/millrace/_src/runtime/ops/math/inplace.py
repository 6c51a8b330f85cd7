"""Blends of three tensors, sums of many, comparisons within limits, and elements changed in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.math.clamp import clamp

__all__ = [
    "add_",
    "clamp_",
    "div_",
    "erfinv_",
    "exp_",
    "floor_",
    "floor_divide_",
    "log_",
    "mul_",
    "remainder_",
    "sub_",
    "tanh_",
]


# --- in place -----------------------------------------------------------------------------------------------------


def _copy_into(input: Tensor, made: Tensor) -> Tensor:
    """A result into the tensor itself; on a leaf that wants gradients without a record, as in MindSpore."""
    if input.is_leaf and input.requires_grad:
        with torch.no_grad():
            return input.copy_(made)
    return input.copy_(made)


@op("Tensor", dtype=SAME, differentiable=False)
def add_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """The tensor itself grows by the other."""
    return _copy_into(input, torch.add(*promote_operands(input, other), alpha=alpha))


@op("Tensor", dtype=SAME, differentiable=False)
def sub_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """The tensor itself shrinks by the other."""
    return _copy_into(input, torch.sub(*promote_operands(input, other), alpha=alpha))


@op("Tensor", dtype=SAME, differentiable=False)
def mul_(input: Tensor, other: Any) -> Tensor:
    """The tensor itself is multiplied."""
    return _copy_into(input, torch.mul(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The tensor itself is divided."""
    return _copy_into(input, torch.div(*promote_operands(input, other), rounding_mode=rounding_mode))


@op("Tensor", dtype=SAME, differentiable=False)
def floor_divide_(input: Tensor, other: Any) -> Tensor:
    """The tensor itself is divided, and cut down to whole numbers."""
    return _copy_into(input, torch.floor_divide(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def remainder_(input: Tensor, other: Any) -> Tensor:
    """The tensor itself becomes what a division leaves."""
    return _copy_into(input, torch.remainder(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def exp_(input: Tensor) -> Tensor:
    """The tensor itself becomes its exponential."""
    return _copy_into(input, torch.exp(input))


@op("Tensor", dtype=SAME, differentiable=False)
def log_(input: Tensor) -> Tensor:
    """The tensor itself becomes its logarithm."""
    return _copy_into(input, torch.log(input))


@op("Tensor", dtype=SAME, differentiable=False)
def floor_(input: Tensor) -> Tensor:
    """The tensor itself is cut down to whole numbers."""
    return _copy_into(input, torch.floor(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def tanh_(input: Tensor) -> Tensor:
    """The tensor itself becomes its hyperbolic tangent."""
    return _copy_into(input, torch.tanh(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def erfinv_(input: Tensor) -> Tensor:
    """The tensor itself becomes its inverse error function."""
    return _copy_into(input, torch.erfinv(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """The tensor itself is held between two limits."""
    return _copy_into(input, clamp.raw(input, min, max))

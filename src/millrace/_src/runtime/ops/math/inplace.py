"""In-place arithmetic: add_, mul_, exp_, clamp_."""

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


def _copy_into(input: Tensor, result: Tensor) -> Tensor:
    """Copy a result into the tensor. A leaf that requires gradients is written without recording, as in MindSpore."""
    if input.is_leaf and input.requires_grad:
        with torch.no_grad():
            return input.copy_(result)
    return input.copy_(result)


@op("Tensor", dtype=SAME, differentiable=False)
def add_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Add `alpha` times `other` in place."""
    return _copy_into(input, torch.add(*promote_operands(input, other), alpha=alpha))


@op("Tensor", dtype=SAME, differentiable=False)
def sub_(input: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract `alpha` times `other` in place."""
    return _copy_into(input, torch.sub(*promote_operands(input, other), alpha=alpha))


@op("Tensor", dtype=SAME, differentiable=False)
def mul_(input: Tensor, other: Any) -> Tensor:
    """Multiply in place."""
    return _copy_into(input, torch.mul(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def div_(input: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divide in place."""
    return _copy_into(input, torch.div(*promote_operands(input, other), rounding_mode=rounding_mode))


@op("Tensor", dtype=SAME, differentiable=False)
def floor_divide_(input: Tensor, other: Any) -> Tensor:
    """Divide and round down to integers in place."""
    return _copy_into(input, torch.floor_divide(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def remainder_(input: Tensor, other: Any) -> Tensor:
    """Remainder of a division, in place."""
    return _copy_into(input, torch.remainder(*promote_operands(input, other)))


@op("Tensor", dtype=SAME, differentiable=False)
def exp_(input: Tensor) -> Tensor:
    """Exponential of each element, in place."""
    return _copy_into(input, torch.exp(input))


@op("Tensor", dtype=SAME, differentiable=False)
def log_(input: Tensor) -> Tensor:
    """Natural logarithm of each element, in place."""
    return _copy_into(input, torch.log(input))


@op("Tensor", dtype=SAME, differentiable=False)
def floor_(input: Tensor) -> Tensor:
    """Round each element down to an integer, in place."""
    return _copy_into(input, torch.floor(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element, in place."""
    return _copy_into(input, torch.tanh(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def erfinv_(input: Tensor) -> Tensor:
    """Inverse error function of each element, in place."""
    return _copy_into(input, torch.erfinv(input))


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def clamp_(input: Tensor, min: Any = None, max: Any = None) -> Tensor:
    """Clamp each element to [min, max], in place."""
    return _copy_into(input, clamp.raw(input, min, max))

"""Blends of three tensors, sums of many, comparisons within limits, and elements changed in place."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.array.where import clamp
from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AccumulateNV2",
    "AddN",
    "Addcdiv",
    "Addcmul",
    "ApproximateEqual",
    "CheckNumerics",
    "CompareAndBitpack",
    "EqualCount",
    "IsClose",
    "Lerp",
    "LerpScalar",
    "accumulate_n",
    "add_",
    "addcdiv",
    "addcdiv_mint",
    "addcdiv_of",
    "addcmul",
    "addcmul_of",
    "addn",
    "allclose",
    "approximate_equal",
    "approximate_equal_method",
    "check_numerics",
    "choose",
    "clamp_",
    "compare_and_bitpack",
    "div_",
    "equal",
    "equal_count",
    "erfinv_",
    "exp_",
    "floor_",
    "floor_divide_",
    "isclose",
    "lerp",
    "log_",
    "mul_",
    "multiply_method",
    "remainder_",
    "sub_",
    "sum_to_size",
    "tanh_",
    "true_divide_method",
]


def _add_scaled(input: Tensor, product: Tensor, value: Any) -> Tensor:
    return torch.add(input, product if isinstance(value, (int, float)) and value == 1 else product * value)


@op("ops", dtype=SAME)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return _add_scaled(input, torch.true_divide(tensor1, tensor2), value)


@op("mint:addcdiv", "Tensor:addcdiv", dtype=SAME)
def addcdiv_mint(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    """input + value * tensor1 / tensor2."""
    return addcdiv.raw(input, tensor1, tensor2, value)


@op("ops", "Tensor", dtype=SAME)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    """input + value * tensor1 * tensor2."""
    return _add_scaled(input, torch.mul(tensor1, tensor2), value)


@op(dtype=SAME)
def addcdiv_of(input_data: Tensor, x1: Tensor, x2: Tensor, value: Tensor) -> Tensor:
    """input_data + value * x1 / x2."""
    return addcdiv.raw(input_data, x1, x2, value)


@op(dtype=SAME)
def addcmul_of(input_data: Tensor, x1: Tensor, x2: Tensor, value: Tensor) -> Tensor:
    """input_data + value * x1 * x2."""
    return addcmul.raw(input_data, x1, x2, value)


Addcdiv = primitive("Addcdiv", addcdiv_of)
Addcmul = primitive("Addcmul", addcmul_of)


@op("ops", "mint", "Tensor", dtype=SAME)
def lerp(input: Tensor, end: Tensor, weight: Tensor | float) -> Tensor:
    """The way from the first to the second, by a share."""
    return torch.lerp(input, end, weight)


Lerp = primitive("Lerp", lerp)
LerpScalar = primitive("LerpScalar", lerp)


@op("ops", dtype=UNCHECKED)
def addn(x: Any) -> Tensor:
    """The sum of several tensors."""
    if isinstance(x, Tensor):
        return x.clone()
    if not isinstance(x, (tuple, list)) or not x or not all(isinstance(part, Tensor) for part in x):
        raise ArgumentTypeError(f"For 'addn', a list or tuple of Tensors is needed, but got {x!r}.")
    made = x[0]
    for part in x[1:]:
        if part.shape != made.shape:
            raise ArgumentValueError(
                f"For 'addn', shapes must be equal, but got {[tuple(p.shape) for p in x]}."
            )
        made = made + part
    return made if len(x) > 1 else made.clone()


@op("ops", dtype=UNCHECKED)
def accumulate_n(x: Any) -> Tensor:
    """The sum of several tensors."""
    return addn.raw(x)


AddN = primitive("AddN", addn, init=())
AccumulateNV2 = primitive("AccumulateNV2", accumulate_n, init=())


# --- comparisons --------------------------------------------------------------------------------------------------


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether two elements differ by no more than atol + rtol * |other|."""
    return torch.isclose(input, other, rtol, atol, equal_nan)


IsClose = primitive("IsClose", isclose)


@op("mint", "Tensor", dtype=UNCHECKED, differentiable=False)
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements differ by no more than atol + rtol * |other|: a bool of Python."""
    return torch.allclose(input, other, rtol, atol, equal_nan)


@op("ops", dtype=BOOL, differentiable=False)
def approximate_equal(x: Tensor, y: Tensor, tolerance: float = 1e-05) -> Tensor:
    """Whether two elements differ by less than a tolerance."""
    return torch.abs(x - y) < tolerance


@op("Tensor:approximate_equal", dtype=BOOL, differentiable=False)
def approximate_equal_method(input: Tensor, other: Tensor, tolerance: float = 1e-05) -> Tensor:
    """Whether two elements differ by less than a tolerance."""
    return torch.abs(input - other) < tolerance


ApproximateEqual = primitive("ApproximateEqual", approximate_equal)


@op("Tensor", dtype=BOOL, differentiable=False)
def equal(input: Tensor, other: Any) -> Tensor:
    """Whether two elements are equal."""
    return torch.eq(*promote_operands(input, other))


@op(dtype=UNCHECKED, differentiable=False)
def equal_count(x: Tensor, y: Tensor) -> Tensor:
    """How many elements of two tensors are equal, as a vector of one."""
    return torch.eq(x, y).sum().reshape(1).to(x.dtype)


EqualCount = primitive("EqualCount", equal_count)


@op(dtype=SAME)
def check_numerics(x: Tensor) -> Tensor:
    """The tensor itself; an error where an element is no number or infinite."""
    if not bool(torch.isfinite(x).all()):
        raise OperationError("For 'CheckNumerics', the tensor holds nan or infinite elements.")
    return x.clone()


CheckNumerics = primitive("CheckNumerics", check_numerics)


@op(dtype=UNCHECKED, differentiable=False)
def compare_and_bitpack(x: Tensor, threshold: Tensor) -> Tensor:
    """Whether elements are above a threshold, eight of the last axis in one byte."""
    bits = (x > threshold).reshape(*x.shape[:-1], -1, 8).to(torch.uint8)
    weights = torch.tensor([128, 64, 32, 16, 8, 4, 2, 1], dtype=torch.uint8, device=x.device)
    return (bits * weights).sum(-1).to(torch.uint8)


CompareAndBitpack = primitive("CompareAndBitpack", compare_and_bitpack)


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


@op("Tensor", dtype=SAME)
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """The sums that bring the tensor to a shape that broadcasts to its own."""
    shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return input.sum_to_size(*shape)


@op("Tensor", dtype=UNCHECKED)
def choose(input: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """Per element, the choice whose number it is; numbers that are too large are clipped or wrapped."""
    parts = torch.stack(
        torch.broadcast_tensors(*[torch.as_tensor(each, device=input.device) for each in choices])
    )
    count = parts.shape[0]
    index = input.long() % count if mode == "wrap" else input.long().clamp(0, count - 1)
    shape = torch.broadcast_shapes(index.shape, parts.shape[1:])
    return torch.gather(parts.expand(count, *shape), 0, index.expand(shape).unsqueeze(0)).squeeze(0)


@op("Tensor:multiply", dtype=UNCHECKED)
def multiply_method(input: Tensor, value: Any) -> Tensor:
    """The product."""
    return torch.mul(*promote_operands(input, value))


@op("Tensor:true_divide", dtype=UNCHECKED)
def true_divide_method(input: Tensor, divisor: Any) -> Tensor:
    """The quotient; of whole numbers too."""
    return torch.true_divide(*promote_operands(input, divisor))

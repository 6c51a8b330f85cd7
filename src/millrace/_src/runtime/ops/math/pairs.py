"""Elementwise binary arithmetic: add, sub, mul, div, pow, maximum, remainder. Either operand may be a number."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import promote_operands, subtract_with_bool
from millrace._src.runtime.ops.declare.dtype_rules import FLOAT, PROMOTE, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Add",
    "Atan2",
    "FloorDiv",
    "FloorMod",
    "Hypot",
    "Maximum",
    "Minimum",
    "Mul",
    "Pow",
    "RealDiv",
    "Sub",
    "Xlogy",
    "add",
    "add_scaled",
    "atan2",
    "div",
    "floor_div",
    "floor_divide",
    "floor_mod",
    "fmod",
    "hypot",
    "maximum",
    "minimum",
    "mul",
    "pow",
    "real_div",
    "remainder",
    "sub",
    "sub_scaled",
    "subtract",
    "tensor_add",
    "tensor_mul",
    "tensor_pow",
    "tensor_sub",
    "true_divide",
    "xlogy",
]


@op("ops", dtype=PROMOTE)
def add(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Sum of two tensors."""
    return torch.add(*promote_operands(input, other))


@op("ops", dtype=PROMOTE)
def sub(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Difference of two tensors."""
    return subtract_with_bool(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:multiply", dtype=PROMOTE)
def mul(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Product of two tensors."""
    return torch.mul(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def pow(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Elements of the first operand to the power of those of the second."""
    return torch.pow(*promote_operands(input, exponent))


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def maximum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elementwise maximum; NaN if either operand is NaN."""
    return torch.maximum(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def minimum(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Elementwise minimum; NaN if either operand is NaN."""
    return torch.minimum(*promote_operands(input, other))


@op("ops", "mint", "Tensor", "ops:arctan2", "mint:arctan2", "Tensor:arctan2", dtype=FLOAT)
def atan2(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Angle of the point (other, input) in radians, in the right quadrant."""
    return torch.atan2(*promote_operands(input, other))


@op("ops", dtype=PROMOTE, differentiable=False)
def floor_div(x: Tensor | float, y: Tensor | float) -> Tensor:
    """Quotient rounded down."""
    return torch.floor_divide(*promote_operands(x, y))


@op("ops", "mint", "Tensor", dtype=PROMOTE, differentiable=False)
def floor_divide(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Quotient rounded down."""
    return torch.floor_divide(*promote_operands(input, other))


@op("ops", dtype=PROMOTE)
def floor_mod(x: Tensor | float, y: Tensor | float) -> Tensor:
    """Remainder with the sign of the divisor."""
    return torch.remainder(*promote_operands(x, y))


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def fmod(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Remainder with the sign of the dividend."""
    return torch.fmod(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def remainder(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Remainder with the sign of the divisor."""
    return torch.remainder(*promote_operands(input, other))


@op("ops", "Tensor", dtype=PROMOTE)
def hypot(input: Tensor | float, other: Tensor | float) -> Tensor:
    """Hypotenuse of a right triangle with the given legs."""
    return torch.hypot(*promote_operands(input, other))


@op("ops", "mint", "Tensor", dtype=FLOAT)
def xlogy(input: Tensor | float, other: Tensor | float) -> Tensor:
    """`input` times the logarithm of `other`, and 0 where `input` is 0."""
    return torch.xlogy(*promote_operands(input, other))


@op("mint:add", "Tensor:add", dtype=PROMOTE)
def add_scaled(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """`input` plus `alpha` times `other`."""
    left, right = promote_operands(input, other)
    return torch.add(left, right, alpha=alpha)


@op("mint:sub", "Tensor:sub", "Tensor:subtract", dtype=PROMOTE)
def sub_scaled(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """`input` minus `alpha` times `other`."""
    left, right = promote_operands(input, other)
    return subtract_with_bool(left, right) if alpha == 1 else torch.sub(left, right, alpha=alpha)


@op("ops", dtype=PROMOTE)
def subtract(input: Tensor | float, other: Tensor | float, *, alpha: float = 1) -> Tensor:
    """`input` minus `alpha` times `other`; bools count as 0 and 1."""
    left, right = promote_operands(input, other)
    scaled = torch.mul(right, alpha)
    return torch.sub(left.to(scaled.dtype) if left.dtype is torch.bool else left, scaled)


@op("ops", "mint", "Tensor", "ops:divide", "mint:divide", "Tensor:divide", dtype=UNCHECKED)
def div(input: Tensor | float, other: Tensor | float, *, rounding_mode: str | None = None) -> Tensor:
    """Quotient; `rounding_mode` "floor" or "trunc" rounds it and keeps integers."""
    if rounding_mode not in (None, "floor", "trunc"):
        raise ArgumentValueError(
            f"For ops.div, rounding_mode value should be None, 'floor' or 'trunc', but got {rounding_mode}."
        )
    return torch.div(*promote_operands(input, other), rounding_mode=rounding_mode)


@op("ops", dtype=FLOAT)
def true_divide(dividend: Tensor | float, divisor: Tensor | float) -> Tensor:
    """Quotient of two tensors."""
    return torch.true_divide(*promote_operands(dividend, divisor))


@op(dtype=PROMOTE)
def real_div(x: Tensor | float, y: Tensor | float) -> Tensor:
    """Quotient in the promoted dtype: integers give integers."""
    left, right = promote_operands(x, y)
    whole = not torch.promote_types(left.dtype, right.dtype).is_floating_point
    if whole and not (left.is_complex() or right.is_complex()):
        return torch.div(left, right, rounding_mode="trunc")
    return torch.true_divide(left, right)


Add = primitive("Add", add, init=())
Sub = primitive("Sub", sub, init=())
Mul = primitive("Mul", mul, init=())
Pow = primitive("Pow", pow, init=())
Maximum = primitive("Maximum", maximum, init=())
Minimum = primitive("Minimum", minimum, init=())
Atan2 = primitive("Atan2", atan2, init=())
FloorDiv = primitive("FloorDiv", floor_div, init=())
FloorMod = primitive("FloorMod", floor_mod, init=())
Hypot = primitive("Hypot", hypot, init=())
Xlogy = primitive("Xlogy", xlogy, init=())
RealDiv = primitive("RealDiv", real_div, init=())

# MindSpore's names for instances of these classes.
tensor_add = Add()

tensor_pow = Pow()

tensor_mul = Mul()

tensor_sub = Sub()

export_names(__name__, "ops", "tensor_add", "tensor_pow", "tensor_mul", "tensor_sub")

export_names(
    __name__,
    "ops",
    tensor_muls="mul",
    tensor_div="real_div",
    tensor_floordiv="floor_divide",
    floordiv="floor_divide",
    tensor_mod="floor_mod",
    floormod="floor_mod",
    pows="pow",
)

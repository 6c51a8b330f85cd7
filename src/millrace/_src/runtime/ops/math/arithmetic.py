"""Elementwise binary arithmetic: add, sub, mul, div, pow, remainder, gcd, maximum. Either operand may be a number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names, public
from millrace._src.runtime.ops.declare.arguments import promote_operands, subtract_with_bool
from millrace._src.runtime.ops.declare.dtype_rules import (
    FLOAT,
    INTEGERS,
    PROMOTE,
    SAME,
    UNCHECKED,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.backend.torch_private import release

__all__ = [
    "Add",
    "Atan2",
    "Div",
    "DivNoNan",
    "FloorDiv",
    "FloorMod",
    "Fmax",
    "Fmin",
    "Gcd",
    "Heaviside",
    "Hypot",
    "Lcm",
    "Maximum",
    "Minimum",
    "Mod",
    "Mul",
    "MulNoNan",
    "NextAfter",
    "Pow",
    "RealDiv",
    "SquareSumAll",
    "SquaredDifference",
    "Sub",
    "TensorAdd",
    "TruncateDiv",
    "TruncateMod",
    "Xdivy",
    "Xlogy",
    "add",
    "add_scaled",
    "atan2",
    "copysign",
    "div",
    "div_no_nan",
    "div_primitive",
    "float_power",
    "float_power_method",
    "floor_div",
    "floor_divide",
    "floor_mod",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "heaviside",
    "hypot",
    "lcm",
    "ldexp",
    "ldexp_method",
    "logaddexp",
    "logaddexp2",
    "maximum",
    "minimum",
    "mul",
    "mul_no_nan",
    "multiply_method",
    "nextafter",
    "pow",
    "real_div",
    "remainder",
    "square_sum_all",
    "squared_difference",
    "sub",
    "sub_scaled",
    "subtract",
    "tensor_add",
    "tensor_mul",
    "tensor_pow",
    "tensor_sub",
    "true_divide",
    "true_divide_method",
    "truncate_div",
    "truncate_mod",
    "xdivy",
    "xdivy_method",
    "xlogy",
]


@op("ops", "Tensor", dtype=UNCHECKED)
def copysign(x: Tensor, other: Tensor | float) -> Tensor:
    """Magnitude of the first operand with the sign of the second."""
    return torch.copysign(x, other)


@op("ops", "Tensor", dtype=PROMOTE)
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise maximum; NaN is ignored."""
    if release < (2, 14):
        return torch.fmax(input, other)
    # later releases of PyTorch split the gradient of equal elements
    return torch.where((input >= other) | other.isnan(), input, other)


@op("ops", "Tensor", dtype=PROMOTE)
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """Elementwise minimum; NaN is ignored."""
    if release < (2, 14):
        return torch.fmin(input, other)
    return torch.where((input <= other) | other.isnan(), input, other)


@op("ops", "mint", "Tensor", accepts=INTEGERS, dtype=PROMOTE, differentiable=False)
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor."""
    return torch.gcd(input, other)


@op("ops", "Tensor", accepts=INTEGERS, dtype=PROMOTE, differentiable=False)
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple."""
    return torch.lcm(input, other)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """Heaviside step function: 0 for negative elements, 1 for positive ones, and `values` at 0."""
    return torch.heaviside(input, values)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """Next representable number from the first operand towards the second."""
    return torch.nextafter(input, other)


Fmax = primitive("Fmax", fmax)
Fmin = primitive("Fmin", fmin)
Gcd = primitive("Gcd", gcd)
Lcm = primitive("Lcm", lcm)
Heaviside = primitive("Heaviside", heaviside)
NextAfter = primitive("NextAfter", nextafter)


@op("ops", dtype=SAME)
def ldexp(x: Tensor, other: Tensor) -> Tensor:
    """The first operand times 2 to the power of the second."""
    return _ldexp(x, other)


@op("Tensor:ldexp", dtype=SAME)
def ldexp_method(input: Tensor, other: Tensor) -> Tensor:
    """The tensor times 2 to the power of `other`."""
    return _ldexp(input, other)


def _ldexp(x: Tensor, power: Tensor) -> Tensor:
    """x * 2 ** power. The gradient of PyTorch's ldexp takes negative integer powers as 0."""
    if not power.is_floating_point():
        power = power.to(x.dtype if x.is_floating_point() else torch.float32)
    return x * torch.exp2(power)


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """Logarithm of the sum of two exponentials, without overflow."""
    return torch.logaddexp(input, other)


@op("ops", "mint", "Tensor", dtype=PROMOTE)
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """Base-2 logarithm of the sum of two powers of 2, without overflow."""
    return torch.logaddexp2(input, other)


def _power_float64(input: Any, exponent: Any) -> Tensor:
    left, right = promote_operands(input, exponent)
    wide_dtype = torch.complex128 if left.is_complex() or right.is_complex() else torch.float64
    return torch.pow(left.to(wide_dtype), right.to(wide_dtype))


@op("ops", "mint", "ops:float_power_ext", dtype=UNCHECKED)
def float_power(input: Tensor | float, exponent: Tensor | float) -> Tensor:
    """Power in float64."""
    return _power_float64(input, exponent)


@op("Tensor:float_power", dtype=UNCHECKED, also={"exponent": "other"})
def float_power_method(input: Tensor, other: Tensor | float) -> Tensor:
    """Power in float64."""
    return _power_float64(input, other)


@op("ops", dtype=UNCHECKED, differentiable=False)
def truncate_div(x: Any, y: Any) -> Tensor:
    """Quotient truncated towards 0."""
    return torch.div(*promote_operands(x, y), rounding_mode="trunc")


@op("ops", dtype=UNCHECKED)
def truncate_mod(x: Any, y: Any) -> Tensor:
    """Remainder of the division truncated towards 0; it has the sign of the dividend."""
    return torch.fmod(*promote_operands(x, y))


TruncateDiv = primitive("TruncateDiv", truncate_div, init=())
TruncateMod = primitive("TruncateMod", truncate_mod, init=())
Mod = primitive("Mod", truncate_mod, init=())


@op(dtype=UNCHECKED)
def div_primitive(x: Any, y: Any) -> Tensor:
    """Quotient of two tensors, for integers too."""
    return torch.true_divide(*promote_operands(x, y))


Div = primitive("Div", div_primitive, init=())


def _zero_where(quotient: Tensor, zeros: Tensor) -> Tensor:
    return torch.where(zeros, torch.zeros_like(quotient), quotient)


def _replace_zeros(y: Tensor, zeros: Tensor) -> Tensor:
    """Divisor without zeros, so that gradients contain no NaN."""
    return torch.where(zeros, torch.ones_like(y), y)


@op("ops", dtype=UNCHECKED)
def xdivy(x: Any, y: Any) -> Tensor:
    """Quotient, and 0 where the dividend is 0."""
    left, right = promote_operands(x, y)
    zeros = left == 0
    return _zero_where(torch.true_divide(left, _replace_zeros(right, zeros & (right == 0))), zeros)


@op("Tensor:xdivy", dtype=UNCHECKED)
def xdivy_method(input: Tensor, y: Any) -> Tensor:
    """Quotient, and 0 where the dividend is 0."""
    return xdivy.raw(input, y)


Xdivy = primitive("Xdivy", xdivy, init=())


@op(dtype=UNCHECKED)
def div_no_nan(x: Any, y: Any) -> Tensor:
    """Quotient, and 0 where the divisor is 0."""
    left, right = promote_operands(x, y)
    zeros = right == 0
    return _zero_where(torch.true_divide(left, _replace_zeros(right, zeros)), zeros)


@op(dtype=UNCHECKED)
def mul_no_nan(x: Any, y: Any) -> Tensor:
    """Product, and 0 where the second operand is 0, whatever the first is."""
    left, right = promote_operands(x, y)
    return _zero_where(
        torch.mul(left, right), (right == 0).expand(torch.broadcast_shapes(left.shape, right.shape))
    )


@op(dtype=UNCHECKED)
def squared_difference(x: Any, y: Any) -> Tensor:
    """Squared difference of two tensors."""
    return torch.square(torch.sub(*promote_operands(x, y)))


DivNoNan = primitive("DivNoNan", div_no_nan, init=())
MulNoNan = primitive("MulNoNan", mul_no_nan, init=())
SquaredDifference = primitive("SquaredDifference", squared_difference, init=())


@op(dtype=UNCHECKED)
def square_sum_all(x: Tensor, y: Tensor) -> Any:
    """Sum of squares of each of two tensors."""
    return torch.square(x).sum(), torch.square(y).sum()


SquareSumAll = primitive("SquareSumAll", square_sum_all)

# MindSpore's other names for operations that are there.


@op("Tensor:multiply", dtype=UNCHECKED)
def multiply_method(input: Tensor, value: Any) -> Tensor:
    """Product of two tensors."""
    return torch.mul(*promote_operands(input, value))


@op("Tensor:true_divide", dtype=UNCHECKED)
def true_divide_method(input: Tensor, divisor: Any) -> Tensor:
    """Quotient, for integers too."""
    return torch.true_divide(*promote_operands(input, divisor))


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


@public("ops")
class TensorAdd(Add):  # type: ignore[valid-type, misc]
    """Sum of two tensors; the old name of `Add`.

    >>> from millrace import Tensor
    >>> TensorAdd()(Tensor([1.0]), Tensor([2.0])).asnumpy().tolist()
    [3.0]
    """


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

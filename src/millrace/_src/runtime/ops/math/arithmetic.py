"""Less common arithmetic: copysign, gcd, ldexp, logaddexp, float_power, div_no_nan, squared_difference."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.public import public
from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import (
    INTEGERS,
    PROMOTE,
    SAME,
    UNCHECKED,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.math.pairs import Add
from millrace._src.runtime.tensor.backend.torch_private import release

__all__ = [
    "Div",
    "DivNoNan",
    "Fmax",
    "Fmin",
    "Gcd",
    "Heaviside",
    "Lcm",
    "Mod",
    "MulNoNan",
    "NextAfter",
    "SquareSumAll",
    "SquaredDifference",
    "TensorAdd",
    "TruncateDiv",
    "TruncateMod",
    "Xdivy",
    "copysign",
    "div_no_nan",
    "div_primitive",
    "float_power",
    "float_power_method",
    "fmax",
    "fmin",
    "gcd",
    "heaviside",
    "lcm",
    "ldexp",
    "ldexp_method",
    "logaddexp",
    "logaddexp2",
    "mul_no_nan",
    "multiply_method",
    "nextafter",
    "square_sum_all",
    "squared_difference",
    "true_divide_method",
    "truncate_div",
    "truncate_mod",
    "xdivy",
    "xdivy_method",
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


@public("ops")
class TensorAdd(Add):
    """Sum of two tensors; the old name of `Add`.

    >>> TensorAdd()(Tensor([1.0]), Tensor([2.0])).asnumpy().tolist()
    [3.0]
    """

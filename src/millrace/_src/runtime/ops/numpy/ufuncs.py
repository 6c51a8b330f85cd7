"""NumPy universal functions: arithmetic, comparisons, elementary functions.

Operands may be numbers or lists; `dtype` is the dtype of the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import subtract_with_bool
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .type_promotion import cast_result, promote_arrays, to_array, to_floating

__all__ = [
    "abs",
    "absolute",
    "add",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "divide",
    "divmod",
    "equal",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "fix",
    "float_power",
    "floor",
    "floor_divide",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "heaviside",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "lcm",
    "less",
    "less_equal",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "negative",
    "not_equal",
    "positive",
    "power",
    "rad2deg",
    "radians",
    "reciprocal",
    "remainder",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "true_divide",
    "trunc",
]

Function = Callable[..., Tensor]


def _define_ufunc(body: Callable[..., Any], name: str, doc: str, differentiable: bool) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = doc
    return op("numpy", dtype=UNCHECKED, differentiable=differentiable)(body)


def _define_unary(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x, dtype=None)``"""

    def body(x: Any, dtype: Any = None) -> Tensor:
        return cast_result(function(to_array(x)), dtype)

    return _define_ufunc(body, name, doc, differentiable)


def _define_unary_a(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(a, dtype=None)``"""

    def body(a: Any, dtype: Any = None) -> Tensor:
        return cast_result(function(to_array(a)), dtype)

    return _define_ufunc(body, name, doc, differentiable)


def _define_unary_without_dtype(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x)``"""

    def body(x: Any) -> Tensor:
        return function(to_array(x))

    return _define_ufunc(body, name, doc, differentiable)


def _define_binary(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x1, x2, dtype=None)``"""

    def body(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        return cast_result(function(*promote_arrays(x1, x2)), dtype)

    return _define_ufunc(body, name, doc, differentiable)


def _to_float32(x: Tensor) -> Tensor:
    """Keep float64, convert everything else to float32."""
    return x if x.dtype is torch.float64 else x.to(torch.float32)


def _truncate_integers(function: Function) -> Function:
    """Wrap a function so that integer operands give truncated integer results, as in MindSpore."""

    def call(x: Tensor, *others: Tensor) -> Tensor:
        result = function(x, *others)
        return (
            result
            if x.is_floating_point() or (others and others[0].is_floating_point())
            else result.to(x.dtype)
        )

    return call


def _cube_root(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.pow(torch.abs(_to_float32(x)), 1 / 3)


def _float_power(left: Tensor, right: Tensor) -> Tensor:
    return torch.pow(to_floating(left), to_floating(right))


abs = _define_unary("abs", torch.abs, "Absolute value of each element.")
absolute = _define_unary("absolute", torch.abs, "Absolute value of each element.")
fabs = _define_unary("fabs", torch.abs, "Absolute value of each element.")
exp = _define_unary("exp", torch.exp, "Exponential of each element.")
exp2 = _define_unary("exp2", _truncate_integers(torch.exp2), "2 to the power of each element.")
expm1 = _define_unary("expm1", torch.expm1, "Exponential of each element minus 1, accurate near 0.")
log = _define_unary("log", torch.log, "Natural logarithm of each element.")
log2 = _define_unary("log2", torch.log2, "Base-2 logarithm of each element.")
log10 = _define_unary("log10", torch.log10, "Base-10 logarithm of each element.")
log1p = _define_unary("log1p", torch.log1p, "Natural logarithm of 1 plus each element, accurate near 0.")
sqrt = _define_unary("sqrt", torch.sqrt, "Square root of each element.")
cbrt = _define_unary("cbrt", _cube_root, "Cube root of each element.")
square = _define_unary("square", torch.square, "Square of each element.")
reciprocal = _define_unary("reciprocal", _truncate_integers(torch.reciprocal), "Reciprocal of each element.")
sin = _define_unary("sin", torch.sin, "Sine of each element, in radians.")
cos = _define_unary("cos", torch.cos, "Cosine of each element, in radians.")
tan = _define_unary("tan", torch.tan, "Tangent of each element, in radians.")
sinh = _define_unary("sinh", torch.sinh, "Hyperbolic sine of each element.")
cosh = _define_unary("cosh", torch.cosh, "Hyperbolic cosine of each element.")
tanh = _define_unary("tanh", torch.tanh, "Hyperbolic tangent of each element.")
arcsin = _define_unary("arcsin", torch.asin, "Inverse sine of each element.")
arctan = _define_unary("arctan", torch.atan, "Inverse tangent of each element.")
arcsinh = _define_unary("arcsinh", torch.asinh, "Inverse hyperbolic sine of each element.")
arccosh = _define_unary("arccosh", torch.acosh, "Inverse hyperbolic cosine of each element.")
arctanh = _define_unary("arctanh", torch.atanh, "Inverse hyperbolic tangent of each element.")
deg2rad = _define_unary("deg2rad", lambda x: torch.deg2rad(to_floating(x)), "Convert degrees to radians.")
radians = _define_unary("radians", lambda x: torch.deg2rad(to_floating(x)), "Convert degrees to radians.")
rad2deg = _define_unary("rad2deg", lambda x: torch.rad2deg(to_floating(x)), "Convert radians to degrees.")
ceil = _define_unary(
    "ceil", lambda x: torch.ceil(_to_float32(x)), "Smallest integer not less than each element.", False
)
floor = _define_unary("floor", torch.floor, "Largest integer not greater than each element.", False)
rint = _define_unary(
    "rint", torch.round, "Nearest integer to each element; halves are rounded to the even one.", False
)
trunc = _define_unary("trunc", lambda x: torch.trunc(to_floating(x)), "Integer part of each element.", False)

fix = _define_unary_without_dtype(
    "fix", lambda x: torch.trunc(to_floating(x)), "Integer part of each element.", False
)

sign = _define_unary("sign", lambda x: torch.sign(to_floating(x)), "Sign of each element: -1, 0 or 1.", False)
signbit = _define_unary(
    "signbit", torch.signbit, "Whether the sign bit of each element is set, of zeros too.", False
)
isnan = _define_unary("isnan", torch.isnan, "Whether each element is NaN.", False)
isinf = _define_unary("isinf", torch.isinf, "Whether each element is infinite.", False)
isfinite = _define_unary(
    "isfinite", torch.isfinite, "Whether each element is neither NaN nor infinite.", False
)

isneginf = _define_unary_without_dtype(
    "isneginf", torch.isneginf, "Whether each element is negative infinity.", False
)
isposinf = _define_unary_without_dtype(
    "isposinf", torch.isposinf, "Whether each element is positive infinity.", False
)

invert = _define_unary("invert", torch.bitwise_not, "Bitwise NOT of each element.", False)
bitwise_not = _define_unary("bitwise_not", torch.bitwise_not, "Bitwise NOT of each element.", False)

negative = _define_unary_a("negative", torch.neg, "Negative of each element.")
positive = _define_unary_a("positive", torch.positive, "The elements, unchanged.")
logical_not = _define_unary_a("logical_not", torch.logical_not, "Logical NOT of each element.", False)

add = _define_binary("add", torch.add, "Sum of two tensors.")
subtract = _define_binary("subtract", subtract_with_bool, "Difference of two tensors.")
multiply = _define_binary("multiply", torch.mul, "Product of two tensors.")
divide = _define_binary("divide", torch.true_divide, "Quotient of two tensors.")
true_divide = _define_binary("true_divide", torch.true_divide, "Quotient of two tensors.")
power = _define_binary(
    "power", torch.pow, "Elements of the first operand to the power of those of the second."
)
float_power = _define_binary(
    "float_power",
    _float_power,
    "Elements of the first operand to the power of those of the second, in a floating dtype.",
)
floor_divide = _define_binary("floor_divide", torch.floor_divide, "Quotient rounded down.", False)
mod = _define_binary("mod", torch.remainder, "Remainder with the sign of the divisor.")
remainder = _define_binary("remainder", torch.remainder, "Remainder with the sign of the divisor.")
fmod = _define_binary("fmod", torch.fmod, "Remainder with the sign of the dividend.")
maximum = _define_binary("maximum", torch.maximum, "Elementwise maximum.")
minimum = _define_binary("minimum", torch.minimum, "Elementwise minimum.")
arctan2 = _define_binary("arctan2", torch.atan2, "Angle of the point (x2, x1) in radians.")
hypot = _define_binary(
    "hypot",
    lambda a, b: torch.hypot(to_floating(a), to_floating(b)),
    "Hypotenuse of a right triangle with the given legs.",
)
copysign = _define_binary(
    "copysign",
    _truncate_integers(torch.copysign),
    "Magnitude of the first operand with the sign of the second.",
    False,
)
heaviside = _define_binary(
    "heaviside",
    lambda a, b: torch.heaviside(a, b.to(a.dtype)),
    "Heaviside step function: 0, 1, or `x2` at 0.",
    False,
)
logaddexp = _define_binary("logaddexp", torch.logaddexp, "Logarithm of the sum of two exponentials.")
logaddexp2 = _define_binary("logaddexp2", torch.logaddexp2, "Base-2 logarithm of the sum of two powers of 2.")
gcd = _define_binary("gcd", torch.gcd, "Greatest common divisor.", False)
lcm = _define_binary("lcm", torch.lcm, "Least common multiple.", False)
bitwise_and = _define_binary("bitwise_and", torch.bitwise_and, "Bitwise AND of two tensors.", False)
bitwise_or = _define_binary("bitwise_or", torch.bitwise_or, "Bitwise OR of two tensors.", False)
bitwise_xor = _define_binary("bitwise_xor", torch.bitwise_xor, "Bitwise XOR of two tensors.", False)
equal = _define_binary("equal", torch.eq, "Elementwise equality.", False)
not_equal = _define_binary("not_equal", torch.ne, "Elementwise inequality.", False)
less = _define_binary(
    "less", torch.lt, "Whether each element of the first operand is less than that of the second.", False
)
less_equal = _define_binary(
    "less_equal",
    torch.le,
    "Whether each element of the first operand is less than or equal to that of the second.",
    False,
)
greater = _define_binary(
    "greater",
    torch.gt,
    "Whether each element of the first operand is greater than that of the second.",
    False,
)
greater_equal = _define_binary(
    "greater_equal",
    torch.ge,
    "Whether each element of the first operand is greater than or equal to that of the second.",
    False,
)
logical_and = _define_binary("logical_and", torch.logical_and, "Logical AND of two tensors.", False)
logical_or = _define_binary("logical_or", torch.logical_or, "Logical OR of two tensors.", False)
logical_xor = _define_binary("logical_xor", torch.logical_xor, "Logical XOR of two tensors.", False)
matmul = _define_binary("matmul", torch.matmul, "Matrix product.")


@op("numpy", dtype=UNCHECKED)
def arccos(input: Any, dtype: Any = None) -> Tensor:
    """Inverse cosine of each element."""
    return cast_result(torch.acos(to_array(input)), dtype)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def divmod(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Quotient rounded down, and remainder."""
    left, right = promote_arrays(x1, x2)
    return cast_result(torch.floor_divide(left, right), dtype), cast_result(
        torch.remainder(left, right), dtype
    )


@op("numpy", dtype=UNCHECKED)
def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """Clamp each element to a range; either limit may be None."""
    tensor = to_array(x)
    if xmin is not None:
        tensor = torch.maximum(tensor, to_array(xmin).to(tensor.dtype))
    if xmax is not None:
        tensor = torch.minimum(tensor, to_array(xmax).to(tensor.dtype))
    return cast_result(tensor, dtype)


export_names(
    __name__, "numpy", "abs", "absolute", "add", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2",
    "arctanh", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "copysign",
    "cos", "cosh", "deg2rad", "divide", "equal", "exp", "exp2", "expm1", "fabs", "fix", "float_power",
    "floor", "floor_divide", "fmod", "gcd", "greater", "greater_equal", "heaviside", "hypot", "invert",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "lcm", "less", "less_equal", "log", "log10",
    "log1p", "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "matmul", "maximum", "minimum", "mod", "multiply", "negative", "not_equal", "positive", "power",
    "rad2deg", "radians", "reciprocal", "remainder", "rint", "sign", "signbit", "sin", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "true_divide", "trunc",
)  # fmt: skip

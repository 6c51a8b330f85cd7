"""Arithmetic, comparisons and elementary functions with NumPy's names: values may be numbers or lists, and `dtype` says
the type of the result."""

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


def _single(x: Tensor) -> Tensor:
    """float64 stays, everything else becomes float32."""
    return x if x.dtype is torch.float64 else x.to(torch.float32)


def _whole(function: Function) -> Function:
    """A function whose result is cut to whole numbers where the operand is whole, as MindSpore does."""

    def made(x: Tensor, *others: Tensor) -> Tensor:
        result = function(x, *others)
        return (
            result
            if x.is_floating_point() or (others and others[0].is_floating_point())
            else result.to(x.dtype)
        )

    return made


def _cube_root(x: Tensor) -> Tensor:
    return torch.sign(x) * torch.pow(torch.abs(_single(x)), 1 / 3)


def _floats_power(left: Tensor, right: Tensor) -> Tensor:
    return torch.pow(to_floating(left), to_floating(right))


abs = _define_unary("abs", torch.abs, "The absolute value.")

absolute = _define_unary("absolute", torch.abs, "The absolute value.")

fabs = _define_unary("fabs", torch.abs, "The absolute value.")

exp = _define_unary("exp", torch.exp, "The exponential.")

exp2 = _define_unary("exp2", _whole(torch.exp2), "2 to the power of each element.")

expm1 = _define_unary("expm1", torch.expm1, "The exponential less 1, exact near 0.")

log = _define_unary("log", torch.log, "The natural logarithm.")

log2 = _define_unary("log2", torch.log2, "The logarithm to base 2.")

log10 = _define_unary("log10", torch.log10, "The logarithm to base 10.")

log1p = _define_unary("log1p", torch.log1p, "The logarithm of 1 plus each element, exact near 0.")

sqrt = _define_unary("sqrt", torch.sqrt, "The square root.")

cbrt = _define_unary("cbrt", _cube_root, "The cube root.")

square = _define_unary("square", torch.square, "Each element times itself.")

reciprocal = _define_unary("reciprocal", _whole(torch.reciprocal), "1 by each element.")

sin = _define_unary("sin", torch.sin, "The sine.")

cos = _define_unary("cos", torch.cos, "The cosine.")

tan = _define_unary("tan", torch.tan, "The tangent.")

sinh = _define_unary("sinh", torch.sinh, "The hyperbolic sine.")

cosh = _define_unary("cosh", torch.cosh, "The hyperbolic cosine.")

tanh = _define_unary("tanh", torch.tanh, "The hyperbolic tangent.")

arcsin = _define_unary("arcsin", torch.asin, "The angle whose sine it is.")

arctan = _define_unary("arctan", torch.atan, "The angle whose tangent it is.")

arcsinh = _define_unary("arcsinh", torch.asinh, "The inverse of the hyperbolic sine.")

arccosh = _define_unary("arccosh", torch.acosh, "The inverse of the hyperbolic cosine.")

arctanh = _define_unary("arctanh", torch.atanh, "The inverse of the hyperbolic tangent.")

deg2rad = _define_unary("deg2rad", lambda x: torch.deg2rad(to_floating(x)), "Degrees as radians.")

radians = _define_unary("radians", lambda x: torch.deg2rad(to_floating(x)), "Degrees as radians.")

rad2deg = _define_unary("rad2deg", lambda x: torch.rad2deg(to_floating(x)), "Radians as degrees.")

ceil = _define_unary("ceil", lambda x: torch.ceil(_single(x)), "The next whole number above.", False)

floor = _define_unary("floor", torch.floor, "The next whole number below.", False)

rint = _define_unary("rint", torch.round, "The nearest whole number; halves go to the even one.", False)

trunc = _define_unary("trunc", lambda x: torch.trunc(to_floating(x)), "The whole part.", False)

fix = _define_unary_without_dtype("fix", lambda x: torch.trunc(to_floating(x)), "The whole part.", False)

sign = _define_unary("sign", lambda x: torch.sign(to_floating(x)), "-1, 0 or 1.", False)

signbit = _define_unary("signbit", torch.signbit, "Whether the sign is negative, of zeros too.", False)

isnan = _define_unary("isnan", torch.isnan, "Whether an element is NaN.", False)

isinf = _define_unary("isinf", torch.isinf, "Whether an element is infinite.", False)

isfinite = _define_unary("isfinite", torch.isfinite, "Whether an element is neither NaN nor infinite.", False)

isneginf = _define_unary_without_dtype(
    "isneginf", torch.isneginf, "Whether an element is minus infinity.", False
)

isposinf = _define_unary_without_dtype(
    "isposinf", torch.isposinf, "Whether an element is plus infinity.", False
)

invert = _define_unary("invert", torch.bitwise_not, "All bits turned over.", False)

bitwise_not = _define_unary("bitwise_not", torch.bitwise_not, "All bits turned over.", False)

negative = _define_unary_a("negative", torch.neg, "Each element with the other sign.")

positive = _define_unary_a("positive", torch.positive, "Each element as it is.")

logical_not = _define_unary_a("logical_not", torch.logical_not, "Whether an element is zero.", False)

add = _define_binary("add", torch.add, "The sum of two elements.")

subtract = _define_binary("subtract", subtract_with_bool, "The difference of two elements.")

multiply = _define_binary("multiply", torch.mul, "The product of two elements.")

divide = _define_binary("divide", torch.true_divide, "The quotient of two elements.")

true_divide = _define_binary("true_divide", torch.true_divide, "The quotient of two elements.")

power = _define_binary("power", torch.pow, "The first to the power of the second.")

float_power = _define_binary(
    "float_power", _floats_power, "The first to the power of the second, as a floating number."
)

floor_divide = _define_binary("floor_divide", torch.floor_divide, "The quotient, rounded down.", False)

mod = _define_binary("mod", torch.remainder, "The remainder, with the sign of the divisor.")

remainder = _define_binary("remainder", torch.remainder, "The remainder, with the sign of the divisor.")

fmod = _define_binary("fmod", torch.fmod, "The remainder, with the sign of the dividend.")

maximum = _define_binary("maximum", torch.maximum, "The larger of two elements.")

minimum = _define_binary("minimum", torch.minimum, "The smaller of two elements.")

arctan2 = _define_binary("arctan2", torch.atan2, "The angle of the point (x2, x1).")

hypot = _define_binary(
    "hypot", lambda a, b: torch.hypot(to_floating(a), to_floating(b)), "The length of the hypotenuse."
)

copysign = _define_binary("copysign", _whole(torch.copysign), "The first with the sign of the second.", False)

heaviside = _define_binary(
    "heaviside", lambda a, b: torch.heaviside(a, b.to(a.dtype)), "0, 1, or `x2` at 0.", False
)

logaddexp = _define_binary("logaddexp", torch.logaddexp, "The logarithm of the sum of the exponentials.")

logaddexp2 = _define_binary("logaddexp2", torch.logaddexp2, "The same to base 2.")

gcd = _define_binary("gcd", torch.gcd, "The greatest common divisor.", False)

lcm = _define_binary("lcm", torch.lcm, "The least common multiple.", False)

bitwise_and = _define_binary("bitwise_and", torch.bitwise_and, "Bits that both have.", False)

bitwise_or = _define_binary("bitwise_or", torch.bitwise_or, "Bits that one at least has.", False)

bitwise_xor = _define_binary("bitwise_xor", torch.bitwise_xor, "Bits that exactly one has.", False)

equal = _define_binary("equal", torch.eq, "Whether two elements are equal.", False)

not_equal = _define_binary("not_equal", torch.ne, "Whether two elements differ.", False)

less = _define_binary("less", torch.lt, "Whether the first is below the second.", False)

less_equal = _define_binary("less_equal", torch.le, "Whether the first is not above the second.", False)

greater = _define_binary("greater", torch.gt, "Whether the first is above the second.", False)

greater_equal = _define_binary("greater_equal", torch.ge, "Whether the first is not below the second.", False)

logical_and = _define_binary("logical_and", torch.logical_and, "Whether both are not zero.", False)

logical_or = _define_binary("logical_or", torch.logical_or, "Whether one at least is not zero.", False)

logical_xor = _define_binary("logical_xor", torch.logical_xor, "Whether exactly one is not zero.", False)

matmul = _define_binary("matmul", torch.matmul, "The matrix product.")


@op("numpy", dtype=UNCHECKED)
def arccos(input: Any, dtype: Any = None) -> Tensor:
    """The angle whose cosine it is."""
    return cast_result(torch.acos(to_array(input)), dtype)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def divmod(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The quotient, rounded down, and the remainder."""
    left, right = promote_arrays(x1, x2)
    return cast_result(torch.floor_divide(left, right), dtype), cast_result(
        torch.remainder(left, right), dtype
    )


@op("numpy", dtype=UNCHECKED)
def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """Each element, held between two values; either may be None."""
    made = to_array(x)
    if xmin is not None:
        made = torch.maximum(made, to_array(xmin).to(made.dtype))
    if xmax is not None:
        made = torch.minimum(made, to_array(xmax).to(made.dtype))
    return cast_result(made, dtype)


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

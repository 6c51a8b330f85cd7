"""Arithmetic, comparisons and elementary functions with NumPy's names: values may be numbers or lists, and `dtype` says
the type of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import difference
from millrace._src.runtime.ops.declare.dtype_rules import OTHER
from millrace._src.runtime.ops.declare.registry import op

from .type_promotion import cast_to, floating, to_array, two

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
    "isclose",
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


def _finish(body: Callable[..., Any], name: str, doc: str, differentiable: bool) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = doc
    return op("numpy", dtype=OTHER, differentiable=differentiable)(body)


def _one(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x, dtype=None)``"""

    def body(x: Any, dtype: Any = None) -> Tensor:
        return cast_to(function(to_array(x)), dtype)

    return _finish(body, name, doc, differentiable)


def _one_a(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(a, dtype=None)``"""

    def body(a: Any, dtype: Any = None) -> Tensor:
        return cast_to(function(to_array(a)), dtype)

    return _finish(body, name, doc, differentiable)


def _plain(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x)``"""

    def body(x: Any) -> Tensor:
        return function(to_array(x))

    return _finish(body, name, doc, differentiable)


def _pair(name: str, function: Function, doc: str, differentiable: bool = True) -> Any:
    """``name(x1, x2, dtype=None)``"""

    def body(x1: Any, x2: Any, dtype: Any = None) -> Tensor:
        return cast_to(function(*two(x1, x2)), dtype)

    return _finish(body, name, doc, differentiable)


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
    return torch.pow(floating(left), floating(right))


abs = _one("abs", torch.abs, "The absolute value.")
absolute = _one("absolute", torch.abs, "The absolute value.")
fabs = _one("fabs", torch.abs, "The absolute value.")
exp = _one("exp", torch.exp, "The exponential.")
exp2 = _one("exp2", _whole(torch.exp2), "2 to the power of each element.")
expm1 = _one("expm1", torch.expm1, "The exponential less 1, exact near 0.")
log = _one("log", torch.log, "The natural logarithm.")
log2 = _one("log2", torch.log2, "The logarithm to base 2.")
log10 = _one("log10", torch.log10, "The logarithm to base 10.")
log1p = _one("log1p", torch.log1p, "The logarithm of 1 plus each element, exact near 0.")
sqrt = _one("sqrt", torch.sqrt, "The square root.")
cbrt = _one("cbrt", _cube_root, "The cube root.")
square = _one("square", torch.square, "Each element times itself.")
reciprocal = _one("reciprocal", _whole(torch.reciprocal), "1 by each element.")
sin = _one("sin", torch.sin, "The sine.")
cos = _one("cos", torch.cos, "The cosine.")
tan = _one("tan", torch.tan, "The tangent.")
sinh = _one("sinh", torch.sinh, "The hyperbolic sine.")
cosh = _one("cosh", torch.cosh, "The hyperbolic cosine.")
tanh = _one("tanh", torch.tanh, "The hyperbolic tangent.")
arcsin = _one("arcsin", torch.asin, "The angle whose sine it is.")
arctan = _one("arctan", torch.atan, "The angle whose tangent it is.")
arcsinh = _one("arcsinh", torch.asinh, "The inverse of the hyperbolic sine.")
arccosh = _one("arccosh", torch.acosh, "The inverse of the hyperbolic cosine.")
arctanh = _one("arctanh", torch.atanh, "The inverse of the hyperbolic tangent.")
deg2rad = _one("deg2rad", lambda x: torch.deg2rad(floating(x)), "Degrees as radians.")
radians = _one("radians", lambda x: torch.deg2rad(floating(x)), "Degrees as radians.")
rad2deg = _one("rad2deg", lambda x: torch.rad2deg(floating(x)), "Radians as degrees.")
ceil = _one("ceil", lambda x: torch.ceil(_single(x)), "The next whole number above.", False)
floor = _one("floor", torch.floor, "The next whole number below.", False)
rint = _one("rint", torch.round, "The nearest whole number; halves go to the even one.", False)
trunc = _one("trunc", lambda x: torch.trunc(floating(x)), "The whole part.", False)
fix = _plain("fix", lambda x: torch.trunc(floating(x)), "The whole part.", False)
sign = _one("sign", lambda x: torch.sign(floating(x)), "-1, 0 or 1.", False)
signbit = _one("signbit", torch.signbit, "Whether the sign is negative, of zeros too.", False)
isnan = _one("isnan", torch.isnan, "Whether an element is NaN.", False)
isinf = _one("isinf", torch.isinf, "Whether an element is infinite.", False)
isfinite = _one("isfinite", torch.isfinite, "Whether an element is neither NaN nor infinite.", False)
isneginf = _plain("isneginf", torch.isneginf, "Whether an element is minus infinity.", False)
isposinf = _plain("isposinf", torch.isposinf, "Whether an element is plus infinity.", False)
invert = _one("invert", torch.bitwise_not, "All bits turned over.", False)
bitwise_not = _one("bitwise_not", torch.bitwise_not, "All bits turned over.", False)
negative = _one_a("negative", torch.neg, "Each element with the other sign.")
positive = _one_a("positive", torch.positive, "Each element as it is.")
logical_not = _one_a("logical_not", torch.logical_not, "Whether an element is zero.", False)

add = _pair("add", torch.add, "The sum of two elements.")
subtract = _pair("subtract", difference, "The difference of two elements.")
multiply = _pair("multiply", torch.mul, "The product of two elements.")
divide = _pair("divide", torch.true_divide, "The quotient of two elements.")
true_divide = _pair("true_divide", torch.true_divide, "The quotient of two elements.")
power = _pair("power", torch.pow, "The first to the power of the second.")
float_power = _pair(
    "float_power", _floats_power, "The first to the power of the second, as a floating number."
)
floor_divide = _pair("floor_divide", torch.floor_divide, "The quotient, rounded down.", False)
mod = _pair("mod", torch.remainder, "The remainder, with the sign of the divisor.")
remainder = _pair("remainder", torch.remainder, "The remainder, with the sign of the divisor.")
fmod = _pair("fmod", torch.fmod, "The remainder, with the sign of the dividend.")
maximum = _pair("maximum", torch.maximum, "The larger of two elements.")
minimum = _pair("minimum", torch.minimum, "The smaller of two elements.")
arctan2 = _pair("arctan2", torch.atan2, "The angle of the point (x2, x1).")
hypot = _pair("hypot", lambda a, b: torch.hypot(floating(a), floating(b)), "The length of the hypotenuse.")
copysign = _pair("copysign", _whole(torch.copysign), "The first with the sign of the second.", False)
heaviside = _pair("heaviside", lambda a, b: torch.heaviside(a, b.to(a.dtype)), "0, 1, or `x2` at 0.", False)
logaddexp = _pair("logaddexp", torch.logaddexp, "The logarithm of the sum of the exponentials.")
logaddexp2 = _pair("logaddexp2", torch.logaddexp2, "The same to base 2.")
gcd = _pair("gcd", torch.gcd, "The greatest common divisor.", False)
lcm = _pair("lcm", torch.lcm, "The least common multiple.", False)
bitwise_and = _pair("bitwise_and", torch.bitwise_and, "Bits that both have.", False)
bitwise_or = _pair("bitwise_or", torch.bitwise_or, "Bits that one at least has.", False)
bitwise_xor = _pair("bitwise_xor", torch.bitwise_xor, "Bits that exactly one has.", False)
equal = _pair("equal", torch.eq, "Whether two elements are equal.", False)
not_equal = _pair("not_equal", torch.ne, "Whether two elements differ.", False)
less = _pair("less", torch.lt, "Whether the first is below the second.", False)
less_equal = _pair("less_equal", torch.le, "Whether the first is not above the second.", False)
greater = _pair("greater", torch.gt, "Whether the first is above the second.", False)
greater_equal = _pair("greater_equal", torch.ge, "Whether the first is not below the second.", False)
logical_and = _pair("logical_and", torch.logical_and, "Whether both are not zero.", False)
logical_or = _pair("logical_or", torch.logical_or, "Whether one at least is not zero.", False)
logical_xor = _pair("logical_xor", torch.logical_xor, "Whether exactly one is not zero.", False)
matmul = _pair("matmul", torch.matmul, "The matrix product.")


@op("numpy", dtype=OTHER)
def arccos(input: Any, dtype: Any = None) -> Tensor:
    """The angle whose cosine it is."""
    return cast_to(torch.acos(to_array(input)), dtype)


@op("numpy", dtype=OTHER, differentiable=False)
def divmod(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """The quotient, rounded down, and the remainder."""
    left, right = two(x1, x2)
    return cast_to(torch.floor_divide(left, right), dtype), cast_to(torch.remainder(left, right), dtype)


@op("numpy", dtype=OTHER)
def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Tensor:
    """Each element, held between two values; either may be None."""
    made = to_array(x)
    if xmin is not None:
        made = torch.maximum(made, to_array(xmin).to(made.dtype))
    if xmax is not None:
        made = torch.minimum(made, to_array(xmax).to(made.dtype))
    return cast_to(made, dtype)


@op("numpy", dtype=OTHER, differentiable=False)
def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether two elements are equal within a tolerance."""
    left, right = two(a, b)
    kind = torch.promote_types(left.dtype, right.dtype)
    return torch.isclose(left.to(kind), right.to(kind), rtol, atol, equal_nan)

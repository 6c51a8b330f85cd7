"""Elementwise unary operations: abs, exp, log, sqrt, rounding, isnan, nan_to_num."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, FLOAT, NUMBERS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Abs",
    "Ceil",
    "Eps",
    "Erf",
    "Erfc",
    "Erfinv",
    "Exp",
    "Expm1",
    "Floor",
    "Inv",
    "IsFinite",
    "IsInf",
    "IsNan",
    "Log",
    "Log1p",
    "NanToNum",
    "Neg",
    "Reciprocal",
    "Rint",
    "Round",
    "Rsqrt",
    "Sign",
    "Sqrt",
    "Square",
    "Trunc",
    "abs",
    "ceil",
    "eps",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "frac_mint",
    "inv",
    "isfinite",
    "isinf",
    "isnan",
    "isnan_ext",
    "isnan_mint",
    "isneginf",
    "isposinf",
    "log",
    "log10",
    "log1p",
    "log2",
    "nan_to_num",
    "nan_to_num_of",
    "neg",
    "positive",
    "reciprocal",
    "round",
    "round_special",
    "rsqrt",
    "sgn",
    "sign",
    "signbit",
    "sqrt",
    "sqrt_mint",
    "square",
    "trunc",
]


@op("ops", "mint", "Tensor", "ops:absolute", "Tensor:absolute", dtype=UNCHECKED)
def abs(input: Tensor) -> Tensor:
    """Absolute value of each element, also of complex ones."""
    return input.clone() if input.dtype is torch.bool else torch.abs(input)


@op("ops", "mint", "Tensor", "ops:negative", "mint:negative", "Tensor:negative", accepts=NUMBERS)
def neg(input: Tensor) -> Tensor:
    """Negative of each element."""
    return torch.neg(input)


@op("ops", "mint", "Tensor", accepts=NUMBERS)
def square(input: Tensor) -> Tensor:
    """Square of each element."""
    return torch.square(input)


@op("ops", "mint", "Tensor")
def sign(input: Tensor) -> Tensor:
    """Sign of each element: -1, 0 or 1."""
    return torch.sign(input)


@op("ops", "Tensor")
def positive(input: Tensor) -> Tensor:
    """The tensor, unchanged."""
    return input.clone()


@op("ops", "mint", "Tensor", dtype=FLOAT)
def reciprocal(input: Tensor) -> Tensor:
    """Reciprocal of each element."""
    return torch.reciprocal(input)


@op("ops", dtype=FLOAT)
def sqrt(x: Tensor) -> Tensor:
    """Square root of each element."""
    return torch.sqrt(x)


@op("mint:sqrt", "Tensor:sqrt", dtype=FLOAT)
def sqrt_mint(input: Tensor) -> Tensor:
    """Square root of each element."""
    return torch.sqrt(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def rsqrt(input: Tensor) -> Tensor:
    """Reciprocal of the square root of each element."""
    return torch.rsqrt(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def exp(input: Tensor) -> Tensor:
    """Exponential of each element."""
    return torch.exp(input)


@op("ops", "mint", "mint.special", dtype=FLOAT)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""
    return torch.exp2(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def expm1(input: Tensor) -> Tensor:
    """Exponential of each element minus 1, accurate near 0."""
    return torch.expm1(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log(input: Tensor) -> Tensor:
    """Natural logarithm of each element."""
    return torch.log(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log2(input: Tensor) -> Tensor:
    """Base-2 logarithm of each element."""
    return torch.log2(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log10(input: Tensor) -> Tensor:
    """Base-10 logarithm of each element."""
    return torch.log10(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def log1p(input: Tensor) -> Tensor:
    """Natural logarithm of 1 plus each element, accurate near 0."""
    return torch.log1p(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def erf(input: Tensor) -> Tensor:
    """Error function of each element."""
    return torch.erf(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def erfc(input: Tensor) -> Tensor:
    """Complementary error function of each element."""
    return torch.erfc(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def erfinv(input: Tensor) -> Tensor:
    """Inverse error function of each element."""
    return torch.erfinv(input)


@op("ops", "mint", "Tensor")
def floor(input: Tensor) -> Tensor:
    """Largest integer not greater than each element."""
    return torch.floor(input)


@op("ops", "mint", "Tensor")
def ceil(input: Tensor) -> Tensor:
    """Smallest integer not less than each element."""
    return torch.ceil(input)


@op("ops", "mint", "Tensor")
def trunc(input: Tensor) -> Tensor:
    """Integer part of each element."""
    return torch.trunc(input)


@op("ops", "Tensor", dtype=BOOL, differentiable=False)
def isnan(input: Tensor) -> Tensor:
    """Whether each element is NaN."""
    return torch.isnan(input)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite."""
    return torch.isinf(input)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is finite."""
    return torch.isfinite(input)


@op("ops", "mint", "Tensor")
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Each element rounded to the nearest integer, halves to the even one."""
    return torch.round(input, decimals=decimals) if decimals else torch.round(input)


@op("mint.special:round")
def round_special(input: Tensor) -> Tensor:
    """Each element rounded to the nearest integer, halves to the even one."""
    return torch.round(input)


@op("mint:isnan", dtype=BOOL, differentiable=False)
def isnan_mint(tensor: Tensor) -> Tensor:
    """Whether each element is NaN."""
    return torch.isnan(tensor)


Abs = primitive("Abs", abs)
Neg = primitive("Neg", neg)
Square = primitive("Square", square)
Sign = primitive("Sign", sign)
Reciprocal = primitive("Reciprocal", reciprocal)
Sqrt = primitive("Sqrt", sqrt)
Rsqrt = primitive("Rsqrt", rsqrt)
Exp = primitive("Exp", exp)
Expm1 = primitive("Expm1", expm1)
Log = primitive("Log", log)
Log1p = primitive("Log1p", log1p)
Erf = primitive("Erf", erf)
Erfc = primitive("Erfc", erfc)
Erfinv = primitive("Erfinv", erfinv)
Floor = primitive("Floor", floor)
Ceil = primitive("Ceil", ceil)
Trunc = primitive("Trunc", trunc)
IsNan = primitive("IsNan", isnan)
IsInf = primitive("IsInf", isinf)
IsFinite = primitive("IsFinite", isfinite)
Rint = primitive("Rint", round, init=(), call=("input",))
Round = primitive("Round", round, init=(), call=("input",))


@op("ops", dtype=SAME)
def frac(x: Tensor) -> Tensor:
    """Fractional part of each element."""
    return torch.sub(x, torch.trunc(x))


@op("mint:frac", "Tensor:frac", dtype=SAME)
def frac_mint(input: Tensor) -> Tensor:
    """Fractional part of each element."""
    return torch.sub(input, torch.trunc(input))


@op("ops", "Tensor", dtype=SAME)
def sgn(input: Tensor) -> Tensor:
    """Sign of each element; for complex numbers the number divided by its absolute value."""
    return torch.sgn(input) if input.is_complex() else torch.sign(input)


@op("ops", "Tensor", dtype=BOOL, differentiable=False)
def signbit(input: Tensor) -> Tensor:
    """Whether the sign bit of each element is set."""
    return torch.signbit(input)


@op("ops", "Tensor", dtype=SAME)
def inv(x: Tensor) -> Tensor:
    """Reciprocal of each element; integers stay integers."""
    if x.is_floating_point() or x.is_complex():
        return torch.reciprocal(x)
    return torch.div(torch.ones_like(x), x, rounding_mode="trunc")


Inv = primitive("Inv", inv)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isneginf(input: Tensor) -> Tensor:
    """Whether each element is negative infinity."""
    return torch.isneginf(input)


@op("ops", "Tensor", dtype=BOOL, differentiable=False)
def isposinf(input: Tensor) -> Tensor:
    """Whether each element is positive infinity."""
    return torch.isposinf(input)


@op("ops:isnan_ext", dtype=BOOL, differentiable=False)
def isnan_ext(tensor: Tensor) -> Tensor:
    """Whether each element is NaN."""
    return torch.isnan(tensor)


@op("ops", "mint", "Tensor", dtype=SAME)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace NaN and infinities: by 0 and the limits of the dtype, or by the given values."""
    return torch.nan_to_num(input, nan, posinf, neginf)


@op(dtype=SAME)
def nan_to_num_of(
    x: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Replace NaN and infinities by the given values."""
    return torch.nan_to_num(x, nan, posinf, neginf)


NanToNum = primitive("NanToNum", nan_to_num_of)


@op("ops", dtype=SAME, differentiable=False)
def eps(x: Tensor) -> Tensor:
    """Machine epsilon of the dtype, in the shape of the tensor."""
    return torch.full_like(x, torch.finfo(x.dtype).eps)


Eps = primitive("Eps", eps, init=())

export_names(__name__, "ops", tensor_exp="exp", tensor_expm1="expm1")

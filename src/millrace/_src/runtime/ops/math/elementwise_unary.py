"""Operations on each element of one tensor."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import BOOL, FLOAT, NUMBERS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ACos",
    "Abs",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Cos",
    "Cosh",
    "Erf",
    "Erfc",
    "Erfinv",
    "Exp",
    "Expm1",
    "Floor",
    "IsFinite",
    "IsInf",
    "IsNan",
    "Log",
    "Log1p",
    "LogicalNot",
    "Neg",
    "Reciprocal",
    "Rint",
    "Round",
    "Rsqrt",
    "Sign",
    "Sin",
    "Sinh",
    "Sqrt",
    "Square",
    "Tan",
    "Tanh",
    "Trunc",
    "abs",
    "acos",
    "acosh",
    "arcsin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "isnan_mint",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "neg",
    "positive",
    "reciprocal",
    "round",
    "round_special",
    "rsqrt",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "sqrt_mint",
    "square",
    "tan",
    "tanh",
    "trunc",
]


@op("ops", "mint", "Tensor", "ops:absolute", "Tensor:absolute", dtype=UNCHECKED)
def abs(input: Tensor) -> Tensor:
    """Absolute value of each element; of a complex one its length."""
    return input.clone() if input.dtype is torch.bool else torch.abs(input)


@op("ops", "mint", "Tensor", "ops:negative", "mint:negative", "Tensor:negative", accepts=NUMBERS)
def neg(input: Tensor) -> Tensor:
    """Each element with the other sign."""
    return torch.neg(input)


@op("ops", "mint", "Tensor", accepts=NUMBERS)
def square(input: Tensor) -> Tensor:
    """Each element times itself."""
    return torch.square(input)


@op("ops", "mint", "Tensor")
def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1 for each element, by its sign."""
    return torch.sign(input)


@op("ops", "Tensor")
def positive(input: Tensor) -> Tensor:
    """The elements as they are."""
    return input.clone()


@op("ops", "mint", "Tensor", dtype=FLOAT)
def reciprocal(input: Tensor) -> Tensor:
    """One divided by each element."""
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
    """One divided by the square root of each element."""
    return torch.rsqrt(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def exp(input: Tensor) -> Tensor:
    """e to the power of each element."""
    return torch.exp(input)


@op("ops", "mint", "mint.special", dtype=FLOAT)
def exp2(input: Tensor) -> Tensor:
    """2 to the power of each element."""
    return torch.exp2(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def expm1(input: Tensor) -> Tensor:
    """e to the power of each element, less one, exact near 0."""
    return torch.expm1(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log(input: Tensor) -> Tensor:
    """Natural logarithm of each element."""
    return torch.log(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log2(input: Tensor) -> Tensor:
    """Logarithm of each element to the base 2."""
    return torch.log2(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def log10(input: Tensor) -> Tensor:
    """Logarithm of each element to the base 10."""
    return torch.log10(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def log1p(input: Tensor) -> Tensor:
    """Natural logarithm of one plus each element, exact near 0."""
    return torch.log1p(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def sin(input: Tensor) -> Tensor:
    """Sine of each element, in radians."""
    return torch.sin(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def cos(input: Tensor) -> Tensor:
    """Cosine of each element, in radians."""
    return torch.cos(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def tan(input: Tensor) -> Tensor:
    """Tangent of each element, in radians."""
    return torch.tan(input)


@op("ops", "mint", "Tensor", "Tensor:arcsin", dtype=FLOAT)
def asin(input: Tensor) -> Tensor:
    """Inverse sine of each element."""
    return torch.asin(input)


@op("ops", "mint", dtype=FLOAT)
def arcsin(x: Tensor) -> Tensor:
    """Inverse sine of each element."""
    return torch.asin(x)


@op("ops", "mint", "Tensor", "ops:arccos", "mint:arccos", "Tensor:arccos", dtype=FLOAT)
def acos(input: Tensor) -> Tensor:
    """Inverse cosine of each element."""
    return torch.acos(input)


@op("ops", "mint", "Tensor", "ops:arctan", "mint:arctan", "Tensor:arctan", dtype=FLOAT)
def atan(input: Tensor) -> Tensor:
    """Inverse tangent of each element."""
    return torch.atan(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def sinh(input: Tensor) -> Tensor:
    """Hyperbolic sine of each element."""
    return torch.sinh(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def cosh(input: Tensor) -> Tensor:
    """Hyperbolic cosine of each element."""
    return torch.cosh(input)


@op("ops", "mint", "Tensor", "mint.nn.functional", dtype=FLOAT)
def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element."""
    return torch.tanh(input)


@op("ops", "mint", "Tensor", "ops:arcsinh", "mint:arcsinh", "Tensor:arcsinh", dtype=FLOAT)
def asinh(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine of each element."""
    return torch.asinh(input)


@op("ops", "mint", "Tensor", "ops:arccosh", "mint:arccosh", "Tensor:arccosh", dtype=FLOAT)
def acosh(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine of each element."""
    return torch.acosh(input)


@op("ops", "mint", "Tensor", "ops:arctanh", "mint:arctanh", "Tensor:arctanh", dtype=FLOAT)
def atanh(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent of each element."""
    return torch.atanh(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def erf(input: Tensor) -> Tensor:
    """Error function of each element."""
    return torch.erf(input)


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def erfc(input: Tensor) -> Tensor:
    """One less the error function of each element."""
    return torch.erfc(input)


@op("ops", "mint", "Tensor", dtype=FLOAT)
def erfinv(input: Tensor) -> Tensor:
    """Inverse error function of each element."""
    return torch.erfinv(input)


@op("ops", "mint", "Tensor")
def floor(input: Tensor) -> Tensor:
    """The largest whole number not above each element."""
    return torch.floor(input)


@op("ops", "mint", "Tensor")
def ceil(input: Tensor) -> Tensor:
    """The smallest whole number not below each element."""
    return torch.ceil(input)


@op("ops", "mint", "Tensor")
def trunc(input: Tensor) -> Tensor:
    """Each element without its fraction."""
    return torch.trunc(input)


@op("ops", "Tensor", dtype=BOOL, differentiable=False)
def isnan(input: Tensor) -> Tensor:
    """Whether each element is not a number."""
    return torch.isnan(input)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isinf(input: Tensor) -> Tensor:
    """Whether each element is infinite."""
    return torch.isinf(input)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether each element is a finite number."""
    return torch.isfinite(input)


@op("ops", "mint", "Tensor", dtype=BOOL, differentiable=False)
def logical_not(input: Tensor) -> Tensor:
    """Whether each element is zero."""
    return torch.logical_not(input)


@op("ops", "mint", "Tensor")
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """Each element rounded to the nearest whole number, halves to the even one."""
    return torch.round(input, decimals=decimals) if decimals else torch.round(input)


@op("mint.special:round")
def round_special(input: Tensor) -> Tensor:
    """Each element rounded to the nearest whole number, halves to the even one."""
    return torch.round(input)


@op("mint:isnan", dtype=BOOL, differentiable=False)
def isnan_mint(tensor: Tensor) -> Tensor:
    """Whether each element is not a number."""
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
Sin = primitive("Sin", sin)
Cos = primitive("Cos", cos)
Tan = primitive("Tan", tan)
Asin = primitive("Asin", asin)
ACos = primitive("ACos", acos)
Atan = primitive("Atan", atan)
Sinh = primitive("Sinh", sinh)
Cosh = primitive("Cosh", cosh)
Tanh = primitive("Tanh", tanh)
Asinh = primitive("Asinh", asinh)
Acosh = primitive("Acosh", acosh)
Atanh = primitive("Atanh", atanh)
Erf = primitive("Erf", erf)
Erfc = primitive("Erfc", erfc)
Erfinv = primitive("Erfinv", erfinv)
Floor = primitive("Floor", floor)
Ceil = primitive("Ceil", ceil)
Trunc = primitive("Trunc", trunc)
IsNan = primitive("IsNan", isnan)
IsInf = primitive("IsInf", isinf)
IsFinite = primitive("IsFinite", isfinite)
LogicalNot = primitive("LogicalNot", logical_not)
Rint = primitive("Rint", round, init=(), call=("input",))
Round = primitive("Round", round, init=(), call=("input",))

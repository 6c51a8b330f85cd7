"""Trigonometric and hyperbolic functions, degrees and radians."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import FLOAT, FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ACos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Cos",
    "Cosh",
    "Sin",
    "Sinc",
    "Sinh",
    "Tan",
    "Tanh",
    "acos",
    "acosh",
    "arcsin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "deg2rad_method",
    "rad2deg",
    "rad2deg_method",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]


@op("ops", "mint", "Tensor", "mint.special", dtype=FLOAT)
def sinc(input: Tensor) -> Tensor:
    """Normalized sinc function: sin(pi x) / (pi x), and 1 at 0."""
    return torch.sinc(input)


Sinc = primitive("Sinc", sinc)


@op("ops", accepts=FLOATS, dtype=SAME)
def deg2rad(x: Tensor) -> Tensor:
    """Convert degrees to radians."""
    return torch.deg2rad(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def rad2deg(x: Tensor) -> Tensor:
    """Convert radians to degrees."""
    return torch.rad2deg(x)


@op("Tensor:deg2rad", accepts=FLOATS, dtype=SAME)
def deg2rad_method(input: Tensor) -> Tensor:
    """Convert degrees to radians."""
    return torch.deg2rad(input)


@op("Tensor:rad2deg", accepts=FLOATS, dtype=SAME)
def rad2deg_method(input: Tensor) -> Tensor:
    """Convert radians to degrees."""
    return torch.rad2deg(input)


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

"""Complex numbers: real, imag, conj, angle, polar, view_as_real."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Angle",
    "Complex",
    "ComplexAbs",
    "Conj",
    "ConjugateTranspose",
    "Imag",
    "Polar",
    "Real",
    "adjoint",
    "angle",
    "complex_abs",
    "complex_of",
    "conj",
    "conjugate_transpose",
    "imag",
    "isreal",
    "polar",
    "real",
    "view_as_real",
]


@op("ops", "Tensor", dtype=UNCHECKED)
def real(input: Tensor) -> Tensor:
    """Real part; real tensors are returned unchanged."""
    return torch.real(input)


@op("ops", "Tensor", dtype=UNCHECKED)
def imag(input: Tensor) -> Tensor:
    """Imaginary part; 0 for real tensors."""
    return torch.imag(input) if input.is_complex() else torch.zeros_like(input)


@op("ops", "Tensor", dtype=SAME)
def conj(input: Tensor) -> Tensor:
    """Complex conjugate; real tensors are returned unchanged."""
    return torch.conj_physical(input)


@op("ops", "Tensor", dtype=UNCHECKED)
def angle(input: Tensor) -> Tensor:
    """Argument of complex numbers: 0 or pi for real numbers."""
    return torch.angle(input)


@op("ops", "mint", dtype=UNCHECKED, accepts=frozenset({torch.float32, torch.float64}))
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers from absolute value and angle."""
    return torch.polar(abs, angle)


@op("ops", dtype=UNCHECKED)
def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last axis."""
    if not input.is_complex():
        raise ArgumentTypeError(
            f"For view_as_real, the dtype of input Tensor must be complex, but got {input.dtype}."
        )
    return torch.view_as_real(input)


@op("ops", "Tensor", dtype=BOOL, differentiable=False)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    return torch.isreal(input)


@op("ops", "Tensor", dtype=SAME)
def adjoint(x: Tensor) -> Tensor:
    """Conjugate transpose of matrices."""
    return torch.conj_physical(x.transpose(-2, -1))


@op(dtype=SAME)
def conjugate_transpose(x: Tensor, perm: Any) -> Tensor:
    """Permute the axes and conjugate the elements."""
    return torch.conj_physical(torch.permute(x, tuple(perm)))


@op(dtype=UNCHECKED)
def complex_of(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers from real and imaginary parts, which are broadcast."""
    if real.dtype is not imag.dtype or real.dtype not in (torch.float32, torch.float64):
        raise ArgumentTypeError(
            f"For 'Complex', both parts must be float32 or both float64, but got {real.dtype} and {imag.dtype}."
        )
    return torch.complex(real, imag)


@op(dtype=UNCHECKED)
def complex_abs(x: Tensor) -> Tensor:
    """Absolute value of complex numbers."""
    if not x.is_complex():
        raise ArgumentTypeError(
            f"For 'ComplexAbs', the input must be complex64 or complex128, but got {x.dtype}."
        )
    return torch.abs(x)


Real = primitive("Real", real, init=())
Imag = primitive("Imag", imag, init=())
Conj = primitive("Conj", conj, init=())
Angle = primitive("Angle", angle, init=())
Polar = primitive("Polar", polar, init=())
Complex = primitive("Complex", complex_of, init=())
ComplexAbs = primitive("ComplexAbs", complex_abs, init=())
ConjugateTranspose = primitive("ConjugateTranspose", conjugate_transpose, init=())

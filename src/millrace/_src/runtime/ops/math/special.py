"""Special functions: gamma, digamma, Bessel functions, zeta, logit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOAT, FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BesselI0",
    "BesselI0e",
    "BesselI1",
    "BesselI1e",
    "BesselJ0",
    "BesselJ1",
    "BesselK0",
    "BesselK0e",
    "BesselK1",
    "BesselK1e",
    "BesselY0",
    "BesselY1",
    "Digamma",
    "Igamma",
    "Igammac",
    "Lgamma",
    "Logit",
    "Mvlgamma",
    "Polygamma",
    "Zeta",
    "bessel_i0",
    "bessel_i0e",
    "bessel_i1",
    "bessel_i1e",
    "bessel_j0",
    "bessel_j1",
    "bessel_k0",
    "bessel_k0e",
    "bessel_k1",
    "bessel_k1e",
    "bessel_y0",
    "bessel_y1",
    "digamma",
    "digamma_strict",
    "i0",
    "igamma",
    "igamma_strict",
    "igammac",
    "lbeta",
    "lgamma",
    "lgamma_strict",
    "logit",
    "logit_of",
    "mvlgamma",
    "polygamma",
    "zeta",
]


class _FunctionWithDerivative(torch.autograd.Function):
    """Function without a gradient in PyTorch, with its derivative."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, function: Callable[[Tensor], Tensor], slope: Callable[[Tensor], Tensor]) -> Tensor:
        return function(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, _, ctx.slope = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_outputs[0] * ctx.slope(x), None, None


def _j0(x: Tensor) -> Tensor:
    return _FunctionWithDerivative.apply(x, torch.special.bessel_j0, lambda x: -_j1(x))


def _j1(x: Tensor) -> Tensor:
    return _FunctionWithDerivative.apply(
        x, torch.special.bessel_j1, lambda x: _j0(x) - torch.where(x == 0, 0.5, _j1(x) / x)
    )


def _y0(x: Tensor) -> Tensor:
    return _FunctionWithDerivative.apply(x, torch.special.bessel_y0, lambda x: -_y1(x))


def _y1(x: Tensor) -> Tensor:
    return _FunctionWithDerivative.apply(x, torch.special.bessel_y1, lambda x: _y0(x) - _y1(x) / x)


def _k0(x: Tensor) -> Tensor:
    return _FunctionWithDerivative.apply(x, torch.special.modified_bessel_k0, lambda x: -_k1(x))


def _k1(x: Tensor) -> Tensor:
    function = torch.special.modified_bessel_k1
    return _FunctionWithDerivative.apply(x, function, lambda x: -_k0(x) - _k1(x) / x)


def _k0e(x: Tensor) -> Tensor:
    function = torch.special.scaled_modified_bessel_k0
    return _FunctionWithDerivative.apply(x, function, lambda x: _k0e(x) - _k1e(x))


def _k1e(x: Tensor) -> Tensor:
    function = torch.special.scaled_modified_bessel_k1
    return _FunctionWithDerivative.apply(x, function, lambda x: _k1e(x) - _k0e(x) - _k1e(x) / x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_i0(x: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
    return torch.special.i0(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_i0e(x: Tensor) -> Tensor:
    """Exponentially scaled modified Bessel function of the first kind, order 0: times exp(-|x|)."""
    return torch.special.i0e(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_i1(x: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""
    return torch.special.i1(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_i1e(x: Tensor) -> Tensor:
    """Exponentially scaled modified Bessel function of the first kind, order 1: times exp(-|x|)."""
    return torch.special.i1e(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_j0(x: Tensor) -> Tensor:
    """Bessel function of the first kind, order 0."""
    return _j0(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_j1(x: Tensor) -> Tensor:
    """Bessel function of the first kind, order 1."""
    return _j1(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_k0(x: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 0."""
    return _k0(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_k0e(x: Tensor) -> Tensor:
    """Exponentially scaled modified Bessel function of the second kind, order 0: times exp(x)."""
    return _k0e(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_k1(x: Tensor) -> Tensor:
    """Modified Bessel function of the second kind, order 1."""
    return _k1(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_k1e(x: Tensor) -> Tensor:
    """Exponentially scaled modified Bessel function of the second kind, order 1: times exp(x)."""
    return _k1e(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_y0(x: Tensor) -> Tensor:
    """Bessel function of the second kind, order 0."""
    return _y0(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def bessel_y1(x: Tensor) -> Tensor:
    """Bessel function of the second kind, order 1."""
    return _y1(x)


BesselI0 = primitive("BesselI0", bessel_i0)
BesselI0e = primitive("BesselI0e", bessel_i0e)
BesselI1 = primitive("BesselI1", bessel_i1)
BesselI1e = primitive("BesselI1e", bessel_i1e)
BesselJ0 = primitive("BesselJ0", bessel_j0)
BesselJ1 = primitive("BesselJ1", bessel_j1)
BesselK0 = primitive("BesselK0", bessel_k0)
BesselK0e = primitive("BesselK0e", bessel_k0e)
BesselK1 = primitive("BesselK1", bessel_k1)
BesselK1e = primitive("BesselK1e", bessel_k1e)
BesselY0 = primitive("BesselY0", bessel_y0)
BesselY1 = primitive("BesselY1", bessel_y1)


@op("ops", "Tensor", accepts=FLOATS, dtype=SAME)
def i0(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
    return torch.special.i0(input)


@op("ops", "Tensor", accepts=FLOATS, dtype=SAME)
def digamma(input: Tensor) -> Tensor:
    """Digamma function: the derivative of the logarithm of the gamma function."""
    return torch.digamma(input)


@op("ops", "Tensor", dtype=FLOAT)
def lgamma(input: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
    return torch.lgamma(input)


@op("ops", "Tensor", accepts=FLOATS, dtype=SAME)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """Logarithm of the multivariate gamma function of dimension `p`."""
    if isinstance(p, bool) or not isinstance(p, int):
        raise ArgumentTypeError(f"For 'mvlgamma', 'p' must be an int, but got {p!r}.")
    if p < 1:
        raise ArgumentValueError(f"For 'mvlgamma', 'p' must be at least 1, but got {p}.")
    return torch.mvlgamma(input, p)


Digamma = primitive("Digamma", digamma)
Lgamma = primitive("Lgamma", lgamma)
Mvlgamma = primitive("Mvlgamma", mvlgamma)


@op("ops", dtype=UNCHECKED, differentiable=False)
def polygamma(n: Tensor, input: Tensor) -> Tensor:
    """n-th derivative of the digamma function; `n` is a tensor and may differ per element."""
    order = n.to(input.dtype)
    sign = torch.where(n % 2 == 0, -1.0, 1.0).to(input.dtype)
    values = sign * torch.exp(torch.lgamma(order + 1)) * torch.special.zeta(order + 1, input)
    return torch.where(n == 0, torch.digamma(input), values)


Polygamma = primitive("Polygamma", polygamma)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """Regularized lower incomplete gamma function; it has a gradient for `other` only."""
    return torch.igamma(input, other)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """Regularized upper incomplete gamma function; it has a gradient for `other` only."""
    return torch.igammac(input, other)


@op("ops", dtype=SAME, differentiable=False)
def zeta(input: Tensor, other: Tensor) -> Tensor:
    """Hurwitz zeta function: the sum of (k + other) ** -input over k >= 0; it has a gradient for `other` only."""
    return torch.special.zeta(input, other)


Igamma = primitive("Igamma", igamma)
Igammac = primitive("Igammac", igammac)
Zeta = primitive("Zeta", zeta, init=())


@op("ops", "Tensor", accepts=FLOATS, dtype=SAME)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """Logit, log(x / (1 - x)); with `eps`, elements are clamped to [eps, 1 - eps] first."""
    return torch.logit(input, eps)


@op(accepts=FLOATS, dtype=SAME)
def logit_of(x: Tensor, eps: float = -1.0) -> Tensor:
    """Logit, log(x / (1 - x)); with `eps` >= 0, elements are clamped to [eps, 1 - eps] first."""
    return torch.logit(x, None if eps < 0 else eps)


Logit = primitive("Logit", logit_of)


@op(accepts=FLOATS, dtype=SAME)
def lgamma_strict(x: Tensor) -> Tensor:
    """Logarithm of the absolute value of the gamma function."""
    return torch.lgamma(x)


@op(accepts=FLOATS, dtype=SAME)
def digamma_strict(x: Tensor) -> Tensor:
    """Digamma function: the derivative of the logarithm of the gamma function."""
    return torch.digamma(x)


@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def igamma_strict(a: Tensor, x: Tensor) -> Tensor:
    """Regularized lower incomplete gamma function."""
    return torch.special.gammainc(a, x)


@op(accepts=FLOATS, dtype=SAME)
def lbeta(x: Tensor, y: Tensor) -> Tensor:
    """Logarithm of the beta function."""
    return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)

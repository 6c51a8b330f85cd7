"""NumPy polynomials: polyadd, polymul, polyval, polyder, polyint."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.mathematical_functions import convolve

from .type_promotion import to_array, to_floating

__all__ = ["polyadd", "polyder", "polyint", "polymul", "polysub", "polyval"]


def _same_length(a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    """Two polynomials with the same number of coefficients; zeros are prepended to the shorter."""
    left, right = torch.atleast_1d(to_array(a1)), torch.atleast_1d(to_array(a2))
    size = max(left.numel(), right.numel())
    return F.pad(left, (size - left.numel(), 0)), F.pad(right, (size - right.numel(), 0))


@op("numpy", dtype=UNCHECKED)
def polyadd(a1: Any, a2: Any) -> Tensor:
    """Sum of two polynomials; coefficients of the highest power come first."""
    return torch.add(*_same_length(a1, a2))


@op("numpy", dtype=UNCHECKED)
def polysub(a1: Any, a2: Any) -> Tensor:
    """Difference of two polynomials."""
    return torch.sub(*_same_length(a1, a2))


@op("numpy", dtype=UNCHECKED)
def polymul(a1: Any, a2: Any) -> Tensor:
    """Product of two polynomials."""
    return convolve.raw(torch.atleast_1d(to_array(a1)), torch.atleast_1d(to_array(a2)))


@op("numpy", dtype=UNCHECKED)
def polyval(p: Any, x: Any) -> Tensor:
    """Value of a polynomial at each element."""
    factors, values = to_array(p), to_floating(to_array(x))
    powers = torch.arange(factors.numel() - 1, -1, -1, device=values.device)
    return torch.sum(torch.pow(values.unsqueeze(-1), powers) * factors, -1)


@op("numpy", dtype=UNCHECKED)
def polyder(p: Any, m: int = 1) -> Tensor:
    """`m`-th derivative of a polynomial."""
    factors = to_array(p)
    if to_int(m, "m") < 0:
        raise ArgumentValueError(f"Order of derivative must be positive, but got {m}.")
    for _ in range(m):
        powers = torch.arange(factors.numel() - 1, 0, -1, device=factors.device).to(factors.dtype)
        factors = factors[:-1] * powers
    return factors


@op("numpy", dtype=UNCHECKED)
def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """`m`-th integral of a polynomial, with integration constants `k`."""
    factors = to_floating(to_array(p))
    if to_int(m, "m") < 0:
        raise ArgumentValueError(f"Order of integral must be positive, but got {m}.")
    constants = factors.new_zeros(m) if k is None else torch.atleast_1d(to_floating(to_array(k))).expand(m)
    for time in range(m):
        powers = torch.arange(factors.numel(), 0, -1, device=factors.device).to(factors.dtype)
        factors = torch.cat((factors / powers, constants[time : time + 1].to(factors.dtype)))
    return factors

"""Incomplete beta function by its continued fraction."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["Betainc", "betainc"]

_TERMS = 200  # sufficient for arguments up to some tens of thousands
_FLOATS = frozenset({torch.float32, torch.float64})


def _log_beta(a: Tensor, b: Tensor) -> Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)


def _fraction(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Continued fraction of I(a, b, x) times a B(a, b) / (x^a (1 - x)^b), by Lentz's method."""
    tiny = 1e-300

    def away(value: Tensor) -> Tensor:
        return torch.where(value.abs() < tiny, tiny, value)

    d = 1 / away(1 - (a + b) * x / (a + 1))
    c, fraction = torch.ones_like(x), d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for step in (even, odd):
            d, c = 1 / away(1 + step * d), away(1 + step / c)
            fraction = fraction * d * c
    return fraction


class _Betainc(torch.autograd.Function):
    """Incomplete beta function with a gradient by x only, as in MindSpore."""

    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
        wide_a, wide_b, wide = a.double(), b.double(), x.double()
        swapped = wide > (wide_a + 1) / (wide_a + wide_b + 2)
        first, second = torch.where(swapped, wide_b, wide_a), torch.where(swapped, wide_a, wide_b)
        at = torch.where(swapped, 1 - wide, wide)
        front = (
            torch.exp(first * torch.log(at) + second * torch.log1p(-at) - _log_beta(first, second)) / first
        )
        result = front * _fraction(first, second, at)
        result = torch.where(swapped, 1 - result, result)
        result = torch.where(wide == 0, 0.0, torch.where(wide == 1, 1.0, result))
        legal = (wide_a > 0) & (wide_b > 0) & (wide >= 0) & (wide <= 1)
        return torch.where(legal, result, float("nan")).to(x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        a, b, x = ctx.saved_tensors
        slope = torch.exp((a - 1) * torch.log(x) + (b - 1) * torch.log1p(-x) - _log_beta(a, b))
        return None, None, grads[0] * slope


@op(accepts=_FLOATS, dtype=SAME, differentiable=False)
def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """Regularized incomplete beta function; it has a gradient for `x` only."""
    if not a.shape == b.shape == x.shape:
        raise ArgumentValueError(
            f"For 'Betainc', the three shapes must be equal, but got {list(a.shape)}, {list(b.shape)} and "
            f"{list(x.shape)}."
        )
    return _Betainc.apply(a, b, x)


Betainc = primitive("Betainc", betainc)

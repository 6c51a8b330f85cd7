"""Cumulative operations and differences: cumsum, cumprod, cummax, logcumsumexp, diff, trapz."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import normalize_axis
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.backend.torch_private import release

__all__ = [
    "CumProd",
    "CumSum",
    "Cummax",
    "Cummin",
    "CumulativeLogsumexp",
    "cum_prod",
    "cum_sum",
    "cummax",
    "cummax_mint",
    "cummin",
    "cummin_mint",
    "cumprod",
    "cumsum",
    "cumsum_method",
    "cumsum_mint",
    "cumulative_logsumexp",
    "diff",
    "diff_method",
    "diff_mint",
    "logcumsumexp",
    "running_product",
    "trapz",
]


def _shift(source: Tensor, axis: int, empty: Any) -> Tensor:
    """Shift a cumulative result by one position, so that it excludes the element itself."""
    start = torch.full_like(source.narrow(axis, 0, min(1, source.shape[axis])), empty)
    return torch.cat([start, source.narrow(axis, 0, max(0, source.shape[axis] - 1))], axis)


def _cumulate(
    function: Any, name: str, x: Tensor, axis: Any, exclusive: bool, reverse: bool, empty: Any
) -> Tensor:
    at = normalize_axis(name, axis, x.ndim)
    source = x.flip(at) if reverse else x
    accumulated = function(source, at)
    if exclusive:
        accumulated = _shift(accumulated, at, empty)
    return accumulated.flip(at) if reverse else accumulated


def _sum(x: Tensor, axis: int) -> Tensor:
    return torch.cumsum(x, axis, dtype=x.dtype)


class _CumProd(torch.autograd.Function):
    """Cumulative product for PyTorch before 2.13.

    Those releases compute its gradient with other operations, and other last bits, while a step is captured.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, axis: int) -> Tensor:
        return torch.cumprod(x, axis, dtype=x.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.axis = inputs
        ctx.save_for_backward(x, output)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> Any:
        x, product = ctx.saved_tensors
        if torch.is_grad_enabled():  # second derivative
            return _product_gradient_of_all(grad_outputs[0], x, ctx.axis), None
        return _product_gradient(grad_outputs[0], x, product, ctx.axis), None


def _product_gradient(slope: Tensor, x: Tensor, product: Tensor, axis: int) -> Tensor:
    """Gradient of a cumulative product.

    Before the first zero: the sum of the products from here on, divided by the element. At the first zero: the sum of
    the products without it. After it: 0, since every product has that zero as a factor.
    """
    zero = x == 0
    zeros = torch.cumsum(zero, axis)
    before = zeros == 0
    first = zero & (zeros == 1)
    weighted = torch.where(before, slope * product.conj(), 0)
    later = weighted.flip(axis).cumsum(axis).flip(axis)
    without = torch.cumprod(torch.where(first, 1, x), axis, dtype=x.dtype)
    at_zero = torch.where(before, 0, slope * without.conj()).sum(axis, keepdim=True)
    return torch.where(before, later / torch.where(before, x, 1).conj(), torch.where(first, at_zero, 0))


def _product_gradient_of_all(slope: Tensor, x: Tensor, axis: int) -> Tensor:
    """Gradient by definition, from n x n products: right at zeros in second derivatives, too."""
    rows, slopes = x.movedim(axis, -1), slope.movedim(axis, -1)
    itself = torch.eye(rows.shape[-1], dtype=torch.bool, device=x.device)
    without = torch.cumprod(torch.where(itself, 1, rows.unsqueeze(-2)), -1, dtype=x.dtype)
    gradient = (slopes.unsqueeze(-2) * without.conj() * torch.triu(torch.ones_like(itself))).sum(-1)
    return gradient.movedim(-1, axis)


def running_product(x: Tensor, axis: int) -> Tensor:
    """Cumulative product along an axis."""
    has_gradient = x.dtype.is_floating_point or x.dtype.is_complex
    if release >= (2, 13) or not x.ndim or not has_gradient:
        return torch.cumprod(x, axis, dtype=x.dtype)
    return _CumProd.apply(x, axis)


@op("ops", dtype=SAME)
def cumsum(x: Tensor, axis: int, dtype: Any = None) -> Tensor:
    """Cumulative sum along an axis."""
    return _sum(x if dtype is None else x.to(dtype), normalize_axis("CumSum", axis, x.ndim))


@op("mint:cumsum", dtype=UNCHECKED)
def cumsum_mint(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Cumulative sum along an axis."""
    return torch.cumsum(input, dim, dtype=dtype)


@op("Tensor:cumsum", dtype=UNCHECKED, also={"dim": "axis"})
def cumsum_method(input: Tensor, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative sum along an axis, or of the flattened tensor."""
    source = input if dtype is None else input.to(dtype)
    if axis is None:
        return _sum(source.reshape(-1), 0)
    return _sum(source, normalize_axis("CumSum", axis, input.ndim))


@op(dtype=SAME)
def cum_sum(input: Tensor, axis: Any, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Cumulative sum along an axis. `exclusive` omits the element itself, `reverse` starts at the end."""
    return _cumulate(_sum, "CumSum", input, axis, exclusive, reverse, 0)


CumSum = primitive("CumSum", cum_sum, init=("exclusive", "reverse"))


@op("ops", "mint", "Tensor", dtype=SAME)
def cumprod(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Cumulative product along an axis."""
    return running_product(
        input if dtype is None else input.to(dtype), normalize_axis("CumProd", dim, input.ndim)
    )


@op(dtype=SAME)
def cum_prod(x: Tensor, axis: Any, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Cumulative product along an axis. `exclusive` omits the element itself, `reverse` starts at the end."""
    return _cumulate(running_product, "CumProd", x, axis, exclusive, reverse, 1)


CumProd = primitive("CumProd", cum_prod, init=("exclusive", "reverse"))


@op("ops", "Tensor", dtype=UNCHECKED)
def cummax(input: Tensor, axis: int) -> Any:
    """Cumulative maximum along an axis, and its indices."""
    return torch.cummax(input, normalize_axis("Cummax", axis, input.ndim))


@op("ops", "Tensor", dtype=UNCHECKED)
def cummin(input: Tensor, axis: int) -> Any:
    """Cumulative minimum along an axis, and its indices."""
    values, indices = torch.cummin(input, normalize_axis("Cummin", axis, input.ndim))
    return values, indices.int()


@op("mint:cummax", dtype=UNCHECKED)
def cummax_mint(input: Tensor, dim: int) -> Any:
    """Cumulative maximum along an axis, and its indices."""
    return torch.cummax(input, normalize_axis("Cummax", dim, input.ndim))


@op("mint:cummin", dtype=UNCHECKED)
def cummin_mint(input: Tensor, dim: int) -> Any:
    """Cumulative minimum along an axis, and its indices."""
    return torch.cummin(input, normalize_axis("Cummin", dim, input.ndim))


Cummax = primitive("Cummax", cummax)
Cummin = primitive("Cummin", cummin)


@op("ops", "Tensor", dtype=SAME)
def logcumsumexp(input: Tensor, axis: int) -> Tensor:
    """Logarithm of the cumulative sum of exponentials, without overflow."""
    return torch.logcumsumexp(input, normalize_axis("logcumsumexp", axis, input.ndim))


@op(dtype=SAME)
def cumulative_logsumexp(x: Tensor, axis: Any, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Logarithm of the cumulative sum of exponentials, without overflow. `exclusive` omits the element itself,
    `reverse` starts at the end.
    """
    lowest = torch.finfo(x.dtype).min
    return _cumulate(torch.logcumsumexp, "CumulativeLogsumexp", x, axis, exclusive, reverse, lowest)


CumulativeLogsumexp = primitive("CumulativeLogsumexp", cumulative_logsumexp, init=("exclusive", "reverse"))


@op("ops", dtype=SAME)
def diff(
    x: Tensor, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """n-th difference of adjacent elements along an axis."""
    if not x.ndim:
        raise OperationError(
            "For 'diff', the input must have at least one dimension, but got a single number."
        )
    return torch.diff(x, n, axis, prepend, append)


@op("Tensor:diff", dtype=SAME)
def diff_method(
    input: Tensor, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """n-th difference of adjacent elements along an axis."""
    return diff.raw(input, n, axis, prepend, append)


@op("mint:diff", "ops:diff_ext", dtype=SAME)
def diff_mint(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """n-th difference of adjacent elements along an axis."""
    return torch.diff(input, n, dim, prepend, append)


@op("ops", dtype=UNCHECKED)
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Integral along an axis by the trapezoidal rule."""
    if isinstance(dx, bool) or not isinstance(dx, (int, float)):
        raise ArgumentTypeError(f"For 'trapz', 'dx' must be a number, but got {dx!r}.")
    values = y if y.is_floating_point() or y.is_complex() else y.float()
    if x is not None:
        return torch.trapezoid(values, x.to(values.dtype), dim=dim)
    return torch.trapezoid(values, dx=dx, dim=dim)

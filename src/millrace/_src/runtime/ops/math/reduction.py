"""Reductions along axes: sum, mean, prod, all, any, std, var, logsumexp."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import check_axes, normalize_axes
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, SAME, SUM
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ReduceAll",
    "ReduceAny",
    "ReduceMean",
    "ReduceProd",
    "ReduceSum",
    "all",
    "all_mint",
    "any",
    "any_mint",
    "logsumexp",
    "mean",
    "mean_mint",
    "prod",
    "prod_mint",
    "reduce_all_primitive",
    "reduce_any_primitive",
    "reduce_mean",
    "reduce_mean_primitive",
    "reduce_prod_primitive",
    "reduce_sum",
    "reduce_sum_primitive",
    "std",
    "std_mint",
    "sum",
    "sum_to_size",
    "var",
    "var_mint",
]

# Spellings of `axis` and `keepdims` in MindSpore's overloads.
_DIM = {"axis": "dim", "keepdims": "keepdim", "keep_dims": "keepdim"}

_AXIS = {"dim": "axis", "keepdim": "keepdims", "keep_dims": "keepdims"}

_KEEP = {"dim": "axis", "keepdim": "keep_dims", "keepdims": "keep_dims"}


def mean_keep_dtype(input: Tensor, dim: Any, keepdim: bool, dtype: torch.dtype | None = None) -> Tensor:
    """Mean in the input's dtype, which MindSpore keeps for integers too."""
    if dtype is not None:
        input = input.to(dtype)
    over = normalize_axes(dim, input.ndim)
    if input.is_floating_point() or input.is_complex():
        return torch.mean(input, over, keepdim) if over else input.clone()
    whole = torch.sum(input, over, keepdim) if over else input.clone()
    count = 1
    for axis in over:
        count *= input.shape[axis]
    return torch.div(whole, count, rounding_mode="trunc").to(input.dtype)


def prod_over_axes(input: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Product over several axes."""
    product = input
    for axis in sorted(
        (axis % (input.ndim or 1) for axis in check_axes(normalize_axes(dim, input.ndim), input.ndim)),
        reverse=True,
    ):
        product = torch.prod(product, axis, keepdim)
    return product


@op("ops", "mint", "Tensor", dtype=SUM, also=_DIM)
def sum(input: Tensor, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> Tensor:
    """Sum along axes; bools and integers are summed in int64."""
    if isinstance(keepdim, torch.dtype):  # MindSpore's older argument order: axis, dtype, keepdims
        keepdim, dtype = False, keepdim
    return (
        torch.sum(input, normalize_axes(dim, input.ndim), keepdim, dtype=dtype)
        if input.ndim
        else torch.sum(input, dtype=dtype)
    )


@op("ops", "Tensor", dtype=SAME, also=_KEEP)
def mean(x: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Mean along axes, in the dtype of the input."""
    return mean_keep_dtype(x, axis, keep_dims)


@op("mint:mean", dtype=SAME)
def mean_mint(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean along axes, in the dtype of the input or in `dtype`."""
    return mean_keep_dtype(input, dim, keepdim, dtype)


@op("ops", "Tensor", dtype=SUM, also=_KEEP)
def prod(input: Tensor, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """Product along axes; bools and integers are multiplied in int64."""
    return (
        prod_over_axes(input if dtype is None else input.to(dtype), axis, keep_dims)
        if input.ndim
        else torch.prod(input, dtype=dtype)
    )


@op("mint:prod", dtype=SUM)
def prod_mint(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Product along axes; bools and integers are multiplied in int64."""
    return prod.raw(input, dim, keepdim, dtype)


@op("ops", "Tensor", dtype=BOOL, differentiable=False, also=_KEEP)
def any(input: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether any element along axes is nonzero."""
    return (
        torch.any(input.bool(), normalize_axes(axis, input.ndim), keep_dims) if input.ndim else input.bool()
    )


@op("ops", "Tensor", dtype=BOOL, differentiable=False, also=_KEEP)
def all(input: Tensor, axis: Any = None, keep_dims: bool = False) -> Tensor:
    """Whether all elements along axes are nonzero."""
    return (
        torch.all(input.bool(), normalize_axes(axis, input.ndim), keep_dims) if input.ndim else input.bool()
    )


@op("mint:any", dtype=BOOL, differentiable=False)
def any_mint(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element along axes is nonzero."""
    return any.raw(input, dim, keepdim)


@op("mint:all", dtype=BOOL, differentiable=False)
def all_mint(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements along axes are nonzero."""
    return all.raw(input, dim, keepdim)


@op("ops", "Tensor", dtype=SAME, also=_AXIS)
def std(input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation along axes, with `ddof` delta degrees of freedom."""
    return torch.std(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("ops", "Tensor", dtype=SAME, also=_AXIS)
def var(input: Tensor, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance along axes, with `ddof` delta degrees of freedom."""
    return torch.var(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("mint:std", dtype=SAME)
def std_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Standard deviation along axes."""
    return torch.std(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op("mint:var", dtype=SAME)
def var_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """Variance along axes."""
    return torch.var(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op("ops", "mint", "Tensor", dtype=SAME, also=_DIM)
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """Logarithm of the sum of exponentials along axes, without overflow."""
    return torch.logsumexp(input, normalize_axes(dim, input.ndim), keepdim)


# --- primitives -----------------------------------------------------------------------------------------------


@op(dtype=SAME)
def reduce_sum_primitive(
    x: Tensor, axis: Any = (), keep_dims: bool = False, skip_mode: bool = False
) -> Tensor:
    """Sum along axes in the dtype of the input; with `skip_mode` and no axes, the input."""
    over = normalize_axes(axis, x.ndim)
    if not over or (skip_mode and isinstance(axis, (tuple, list)) and not axis):
        return x.clone()
    return torch.sum(x, over, keep_dims, dtype=x.dtype)


@op(dtype=SAME)
def reduce_mean_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Mean along axes in the dtype of the input."""
    return mean_keep_dtype(x, axis, keep_dims)


@op(dtype=SAME)
def reduce_prod_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Product along axes in the dtype of the input."""
    return prod_over_axes(x, axis, keep_dims).to(x.dtype)


@op(dtype=BOOL, differentiable=False)
def reduce_any_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Whether any element along axes is nonzero."""
    return any.raw(x, axis, keep_dims)


@op(dtype=BOOL, differentiable=False)
def reduce_all_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Whether all elements along axes are nonzero."""
    return all.raw(x, axis, keep_dims)


ReduceSum = primitive("ReduceSum", reduce_sum_primitive, init=("keep_dims", "skip_mode"))
ReduceMean = primitive("ReduceMean", reduce_mean_primitive, init=("keep_dims",))
ReduceProd = primitive("ReduceProd", reduce_prod_primitive, init=("keep_dims",))
ReduceAny = primitive("ReduceAny", reduce_any_primitive, init=("keep_dims",))
ReduceAll = primitive("ReduceAll", reduce_all_primitive, init=("keep_dims",))

# MindSpore's names for instances of these classes.
reduce_sum = ReduceSum()

reduce_mean = ReduceMean()

export_names(__name__, "ops", "reduce_sum", "reduce_mean")


@op("Tensor", dtype=SAME)
def sum_to_size(input: Tensor, *size: Any) -> Tensor:
    """Sum over the axes that were broadcast, so that the result has the given shape."""
    shape = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    return input.sum_to_size(*shape)

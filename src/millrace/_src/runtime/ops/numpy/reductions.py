"""Sums, means, extremes and products with NumPy's names."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import check_axes, normalize_axes, promote_operands, to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.math.cumulative import running_product
from millrace._src.runtime.ops.math.reduction import mean_keep_dtype

from .type_promotion import cast_result, resolve_dtype, to_array, to_floating

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "diff",
    "mean",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
    "sometrue",
    "std",
    "sum",
    "var",
]


def _over(axis: Any, made: Tensor) -> tuple[int, ...]:
    return check_axes(normalize_axes(axis, made.ndim), made.ndim)


@op("numpy", dtype=UNCHECKED)
def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """The sum along axes; bool and integers are added up in int64."""
    made = to_array(a)
    kind = resolve_dtype(dtype)
    over = _over(axis, made)
    if kind is not None and not (kind.is_floating_point or kind.is_complex):
        made = made.detach()  # whole numbers have no gradient, and PyTorch refuses to sum them with one
    total = torch.sum(made, over, keepdims, dtype=kind) if over else made.to(kind or made.dtype)
    return total if initial is None else (total + initial).to(total.dtype)


@op("numpy", dtype=UNCHECKED)
def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """The mean along axes, in the type of the input or in `dtype`."""
    made = to_array(a)
    _over(axis, made)
    return mean_keep_dtype(made, axis, keepdims, resolve_dtype(dtype))


@op("numpy", dtype=UNCHECKED)
def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation along axes."""
    made = to_floating(to_array(x))
    return torch.std(made, _over(axis, made), correction=to_int(ddof, "ddof"), keepdim=keepdims)


@op("numpy", dtype=UNCHECKED)
def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance along axes."""
    made = to_floating(to_array(x))
    return torch.var(made, _over(axis, made), correction=to_int(ddof, "ddof"), keepdim=keepdims)


@op("numpy", dtype=UNCHECKED)
def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The mean along axes, or one in which elements count as `weights` says; the sum of weights with `returned`."""
    made = to_array(x)
    over = _over(axis, made)
    if weights is None:
        found = mean_keep_dtype(made, axis, False)
        count = made.numel() // max(found.numel(), 1)
        whole = torch.full_like(found, count)
    else:
        weight = to_array(weights)
        if weight.ndim == 1 and made.ndim > 1 and len(over) == 1:
            shape = [1] * made.ndim
            shape[over[0]] = -1
            weight = weight.reshape(shape)
        weight = torch.broadcast_to(weight, made.shape)
        whole = torch.sum(weight, over)
        found = torch.sum(made * weight, over) / whole
    return (found, whole) if returned else found


def _extreme(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool) -> Tensor:
    made = to_array(a)
    if where is not True and where is not None:
        if initial is None:
            raise ArgumentValueError("'where' goes together with 'initial'.")
        made = torch.where(to_array(where).bool(), *promote_operands(made, initial))
    over = _over(axis, made)
    if over:
        made = torch.amax(made, over, keepdims) if largest else torch.amin(made, over, keepdims)
    if initial is None:
        return made
    limit = to_array(initial).to(made.dtype)
    return torch.maximum(made, limit) if largest else torch.minimum(made, limit)


@op("numpy", "numpy:max", dtype=UNCHECKED)
def amax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The largest element along axes."""
    return _extreme(a, axis, keepdims, initial, where, largest=True)


@op("numpy", "numpy:min", dtype=UNCHECKED)
def amin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """The smallest element along axes."""
    return _extreme(a, axis, keepdims, initial, where, largest=False)


@op("numpy", dtype=UNCHECKED)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest element along axes."""
    return _extreme(x, axis, keepdims, None, None, True) - _extreme(x, axis, keepdims, None, None, False)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argmax(a: Any, axis: int | None = None) -> Tensor:
    """The place of the largest element along an axis, or among all."""
    return torch.argmax(to_array(a), axis)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argmin(a: Any, axis: int | None = None) -> Tensor:
    """The place of the smallest element along an axis, or among all."""
    return torch.argmin(to_array(a), axis).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The number of elements along axes that are not zero."""
    made = to_array(x).bool()
    return torch.sum(made, _over(axis, made), keepdims).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether an element along axes is not zero."""
    made = to_array(a).bool()
    return torch.any(made, _over(axis, made), keepdims) if made.ndim else made


def _along(a: Any, axis: int | None, dtype: Any, function: Any) -> Tensor:
    made = cast_result(to_array(a), dtype)
    return function(made.reshape(-1), 0) if axis is None else function(made, to_int(axis, "axis"))


@op("numpy", dtype=UNCHECKED)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The sums of all elements up to each along an axis, or of all; bool and integers keep to int32 at least."""
    made = to_array(a)
    kind = resolve_dtype(dtype) or (torch.int32 if made.dtype in _SMALL else made.dtype)
    return _along(made.to(kind), axis, None, torch.cumsum).to(kind)


@op("numpy", dtype=UNCHECKED)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The sums of all elements up to each, in which NaN counts as 0."""
    return cumsum.raw(torch.nan_to_num(to_floating(to_array(a)), 0.0, torch.inf, -torch.inf), axis, dtype)


@op("numpy", dtype=UNCHECKED)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """The products of all elements up to each along an axis, or of all."""
    made = to_array(a)
    kind = resolve_dtype(dtype) or (torch.int32 if made.dtype in _SMALL else made.dtype)
    return _along(made.to(kind), axis, None, running_product).to(kind)


_SMALL = (torch.bool, torch.int8, torch.int16)


@op("numpy", dtype=UNCHECKED)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """The differences of neighbours along an axis, `n` times."""
    made = to_array(a)
    ends = [None if each is None else to_array(each).to(made.dtype) for each in (prepend, append)]
    if not to_int(n, "n") >= 0:
        raise ArgumentValueError(f"For 'diff', the order must be at least 0, but got {n}.")
    shape = list(made.shape)
    shape[axis] = 1
    first, last = (None if each is None else each if each.ndim else each.expand(shape) for each in ends)
    return torch.diff(made, n, axis, first, last)


@op("numpy", dtype=UNCHECKED)
def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The sum along axes, in which NaN counts as 0."""
    made = to_array(a)
    return cast_result(torch.nansum(made, _over(axis, made), keepdims), dtype)


@op("numpy", dtype=UNCHECKED)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The mean along axes of the elements that are not NaN."""
    made = to_floating(to_array(a))
    return cast_result(torch.nanmean(made, _over(axis, made), keepdims), dtype)


def _spread(a: Any, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    """The variance of the elements that are not NaN."""
    made = to_floating(to_array(a))
    over = _over(axis, made)
    there = ~torch.isnan(made)
    count = torch.sum(there, over, keepdims)
    off = torch.where(there, made - torch.nanmean(made, over, True), 0.0)
    return torch.sum(off * off, over, keepdims) / (count - to_int(ddof, "ddof"))


@op("numpy", dtype=UNCHECKED)
def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The variance along axes of the elements that are not NaN."""
    return cast_result(_spread(a, axis, ddof, keepdims), dtype)


@op("numpy", dtype=UNCHECKED)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """The standard deviation along axes of the elements that are not NaN."""
    return cast_result(torch.sqrt(_spread(a, axis, ddof, keepdims)), dtype)


def _nan_extreme(a: Any, axis: Any, dtype: Any, keepdims: bool, largest: bool) -> Tensor:
    made = to_floating(to_array(a))
    over = _over(axis, made)
    gone = torch.isnan(made)
    filled = torch.where(gone, -torch.inf if largest else torch.inf, made)
    found = torch.amax(filled, over, keepdims) if largest else torch.amin(filled, over, keepdims)
    return cast_result(
        torch.where(torch.all(gone, over, keepdims) if over else gone, torch.nan, found), dtype
    )


@op("numpy", dtype=UNCHECKED)
def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element along axes that is not NaN."""
    return _nan_extreme(a, axis, dtype, keepdims, largest=True)


@op("numpy", dtype=UNCHECKED)
def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element along axes that is not NaN."""
    return _nan_extreme(a, axis, dtype, keepdims, largest=False)

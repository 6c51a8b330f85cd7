"""NumPy reductions: sum, mean, std, average, amax, argmax, cumsum, nansum."""

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


def _parse_axes(axis: Any, tensor: Tensor) -> tuple[int, ...]:
    return check_axes(normalize_axes(axis, tensor.ndim), tensor.ndim)


@op("numpy", dtype=UNCHECKED)
def sum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None) -> Tensor:
    """Sum along axes; bools and integers are summed in int64."""
    tensor = to_array(a)
    sum_dtype = resolve_dtype(dtype)
    over = _parse_axes(axis, tensor)
    if sum_dtype is not None and not (sum_dtype.is_floating_point or sum_dtype.is_complex):
        tensor = (
            tensor.detach()
        )  # integers have no gradient, and PyTorch rejects an integer sum that requires one
    total = (
        torch.sum(tensor, over, keepdims, dtype=sum_dtype) if over else tensor.to(sum_dtype or tensor.dtype)
    )
    return total if initial is None else (total + initial).to(total.dtype)


@op("numpy", dtype=UNCHECKED)
def mean(a: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Tensor:
    """Mean along axes, in the dtype of the input or in `dtype`."""
    tensor = to_array(a)
    _parse_axes(axis, tensor)
    return mean_keep_dtype(tensor, axis, keepdims, resolve_dtype(dtype))


@op("numpy", dtype=UNCHECKED)
def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation along axes."""
    tensor = to_floating(to_array(x))
    return torch.std(tensor, _parse_axes(axis, tensor), correction=to_int(ddof, "ddof"), keepdim=keepdims)


@op("numpy", dtype=UNCHECKED)
def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance along axes."""
    tensor = to_floating(to_array(x))
    return torch.var(tensor, _parse_axes(axis, tensor), correction=to_int(ddof, "ddof"), keepdim=keepdims)


@op("numpy", dtype=UNCHECKED)
def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """Weighted mean along axes; with `returned` also the sum of weights."""
    tensor = to_array(x)
    over = _parse_axes(axis, tensor)
    if weights is None:
        averages = mean_keep_dtype(tensor, axis, False)
        count = tensor.numel() // max(averages.numel(), 1)
        whole = torch.full_like(averages, count)
    else:
        weight = to_array(weights)
        if weight.ndim == 1 and tensor.ndim > 1 and len(over) == 1:
            shape = [1] * tensor.ndim
            shape[over[0]] = -1
            weight = weight.reshape(shape)
        weight = torch.broadcast_to(weight, tensor.shape)
        whole = torch.sum(weight, over)
        averages = torch.sum(tensor * weight, over) / whole
    return (averages, whole) if returned else averages


def _reduce_extreme(a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool) -> Tensor:
    tensor = to_array(a)
    if where is not True and where is not None:
        if initial is None:
            raise ArgumentValueError("'where' goes together with 'initial'.")
        tensor = torch.where(to_array(where).bool(), *promote_operands(tensor, initial))
    over = _parse_axes(axis, tensor)
    if over:
        tensor = torch.amax(tensor, over, keepdims) if largest else torch.amin(tensor, over, keepdims)
    if initial is None:
        return tensor
    limit = to_array(initial).to(tensor.dtype)
    return torch.maximum(tensor, limit) if largest else torch.minimum(tensor, limit)


@op("numpy", "numpy:max", dtype=UNCHECKED)
def amax(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """Maximum along axes."""
    return _reduce_extreme(a, axis, keepdims, initial, where, largest=True)


@op("numpy", "numpy:min", dtype=UNCHECKED)
def amin(a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Tensor:
    """Minimum along axes."""
    return _reduce_extreme(a, axis, keepdims, initial, where, largest=False)


@op("numpy", dtype=UNCHECKED)
def ptp(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Peak-to-peak range along axes: maximum minus minimum."""
    return _reduce_extreme(x, axis, keepdims, None, None, True) - _reduce_extreme(
        x, axis, keepdims, None, None, False
    )


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argmax(a: Any, axis: int | None = None) -> Tensor:
    """Index of the maximum along an axis, or of the flattened tensor."""
    return torch.argmax(to_array(a), axis)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argmin(a: Any, axis: int | None = None) -> Tensor:
    """Index of the minimum along an axis, or of the flattened tensor."""
    return torch.argmin(to_array(a), axis).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Number of nonzero elements along axes."""
    is_nonzero = to_array(x).bool()
    return torch.sum(is_nonzero, _parse_axes(axis, is_nonzero), keepdims).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def sometrue(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element along axes is nonzero."""
    truth = to_array(a).bool()
    return torch.any(truth, _parse_axes(axis, truth), keepdims) if truth.ndim else truth


def _accumulate(a: Any, axis: int | None, dtype: Any, function: Any) -> Tensor:
    tensor = cast_result(to_array(a), dtype)
    return function(tensor.reshape(-1), 0) if axis is None else function(tensor, to_int(axis, "axis"))


@op("numpy", dtype=UNCHECKED)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative sum along an axis, or of the flattened tensor; bools and small integers are summed in int32."""
    tensor = to_array(a)
    sum_dtype = resolve_dtype(dtype) or (torch.int32 if tensor.dtype in _SMALL else tensor.dtype)
    return _accumulate(tensor.to(sum_dtype), axis, None, torch.cumsum).to(sum_dtype)


@op("numpy", dtype=UNCHECKED)
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative sum; NaN counts as 0."""
    return cumsum.raw(torch.nan_to_num(to_floating(to_array(a)), 0.0, torch.inf, -torch.inf), axis, dtype)


@op("numpy", dtype=UNCHECKED)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Cumulative product along an axis, or of the flattened tensor."""
    tensor = to_array(a)
    product_dtype = resolve_dtype(dtype) or (torch.int32 if tensor.dtype in _SMALL else tensor.dtype)
    return _accumulate(tensor.to(product_dtype), axis, None, running_product).to(product_dtype)


_SMALL = (torch.bool, torch.int8, torch.int16)


@op("numpy", dtype=UNCHECKED)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """n-th difference of adjacent elements along an axis."""
    tensor = to_array(a)
    ends = [None if each is None else to_array(each).to(tensor.dtype) for each in (prepend, append)]
    if not to_int(n, "n") >= 0:
        raise ArgumentValueError(f"For 'diff', the order must be at least 0, but got {n}.")
    shape = list(tensor.shape)
    shape[axis] = 1
    first, last = (None if each is None else each if each.ndim else each.expand(shape) for each in ends)
    return torch.diff(tensor, n, axis, first, last)


@op("numpy", dtype=UNCHECKED)
def nansum(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Sum along axes; NaN counts as 0."""
    tensor = to_array(a)
    return cast_result(torch.nansum(tensor, _parse_axes(axis, tensor), keepdims), dtype)


@op("numpy", dtype=UNCHECKED)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Mean along axes, ignoring NaN."""
    tensor = to_floating(to_array(a))
    return cast_result(torch.nanmean(tensor, _parse_axes(axis, tensor), keepdims), dtype)


def _nan_variance(a: Any, axis: Any, ddof: int, keepdims: bool) -> Tensor:
    """Variance, ignoring NaN."""
    tensor = to_floating(to_array(a))
    over = _parse_axes(axis, tensor)
    there = ~torch.isnan(tensor)
    count = torch.sum(there, over, keepdims)
    off = torch.where(there, tensor - torch.nanmean(tensor, over, True), 0.0)
    return torch.sum(off * off, over, keepdims) / (count - to_int(ddof, "ddof"))


@op("numpy", dtype=UNCHECKED)
def nanvar(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance along axes, ignoring NaN."""
    return cast_result(_nan_variance(a, axis, ddof, keepdims), dtype)


@op("numpy", dtype=UNCHECKED)
def nanstd(a: Any, axis: Any = None, dtype: Any = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation along axes, ignoring NaN."""
    return cast_result(torch.sqrt(_nan_variance(a, axis, ddof, keepdims)), dtype)


def _reduce_nan_extreme(a: Any, axis: Any, dtype: Any, keepdims: bool, largest: bool) -> Tensor:
    tensor = to_floating(to_array(a))
    over = _parse_axes(axis, tensor)
    gone = torch.isnan(tensor)
    filled = torch.where(gone, -torch.inf if largest else torch.inf, tensor)
    extremes = torch.amax(filled, over, keepdims) if largest else torch.amin(filled, over, keepdims)
    return cast_result(
        torch.where(torch.all(gone, over, keepdims) if over else gone, torch.nan, extremes), dtype
    )


@op("numpy", dtype=UNCHECKED)
def nanmax(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Maximum along axes, ignoring NaN."""
    return _reduce_nan_extreme(a, axis, dtype, keepdims, largest=True)


@op("numpy", dtype=UNCHECKED)
def nanmin(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Minimum along axes, ignoring NaN."""
    return _reduce_nan_extreme(a, axis, dtype, keepdims, largest=False)

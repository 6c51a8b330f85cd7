"""Statistics: median, quantile, histogram, bincount, cov, std_mean, nanmean, confusion_matrix."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import normalize_axes
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import check_integer_indices, normalize_axis
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Bincount",
    "ConfusionMatrix",
    "Histogram",
    "HistogramFixedWidth",
    "Median",
    "Quantile",
    "ReduceStd",
    "aminmax",
    "bincount",
    "bincount_mint",
    "bincount_of",
    "confusion_matrix",
    "cov",
    "histc",
    "histc_mint",
    "histogram_fixed_width",
    "histogram_of",
    "median",
    "median_method",
    "median_mint",
    "median_of",
    "moments",
    "nanmean",
    "nanmedian",
    "nanquantile",
    "nansum",
    "nansum_mint",
    "ptp",
    "quantile",
    "quantile_of",
    "reduce_std",
    "std_mean",
    "std_mean_mint",
    "var_mean",
    "var_mean_mint",
]


@op("ops", dtype=UNCHECKED)
def median(input: Tensor, axis: int = -1, keepdims: bool = False) -> Any:
    """Median along an axis (the lower of two middle elements), and its index."""
    return torch.median(input, normalize_axis("Median", axis, input.ndim or 1), keepdims)


@op("Tensor:median", dtype=UNCHECKED, also={"dim": "axis", "keepdim": "keepdims"})
def median_method(input: Tensor, axis: int = -1, keepdims: bool = False) -> Any:
    """Median along an axis (the lower of two middle elements), and its index."""
    return median.raw(input, axis, keepdims)


@op("mint:median", dtype=UNCHECKED)
def median_mint(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Median of all elements, or along an axis with its index."""
    return torch.median(input) if dim is None else torch.median(input, dim, keepdim)


@op("ops", "Tensor", dtype=UNCHECKED)
def nanmedian(input: Tensor, axis: int = -1, keepdims: bool = False) -> Any:
    """Median along an axis, ignoring NaN, and its index."""
    return torch.nanmedian(input, normalize_axis("nanmedian", axis, input.ndim or 1), keepdims)


@op(dtype=UNCHECKED)
def median_of(
    x: Tensor, global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False
) -> Any:
    """Median of all elements or along an axis, and its index; of all elements the index is 0."""
    if global_median:
        median = torch.nanmedian(x) if ignore_nan else torch.median(x)
        return median, torch.zeros((), dtype=torch.int64, device=x.device)
    at = normalize_axis("Median", axis, x.ndim or 1)
    return torch.nanmedian(x, at, keep_dims) if ignore_nan else torch.median(x, at, keep_dims)


Median = primitive("Median", median_of)


def _quantile(name: str, input: Tensor, q: Any, axis: int | None, keepdims: bool, skip: bool) -> Tensor:
    part = q if isinstance(q, Tensor) else torch.as_tensor(q, dtype=input.dtype, device=input.device)
    if isinstance(q, float) and not 0 <= q <= 1:
        raise ArgumentValueError(f"For '{name}', 'q' must be in [0, 1], but got {q}.")
    function = torch.nanquantile if skip else torch.quantile
    return function(input, part.to(input.dtype), axis, keepdims)


@op("ops", "Tensor", dtype=SAME)
def quantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Quantiles along an axis."""
    return _quantile("quantile", input, q, axis, keepdims, False)


@op("ops", "Tensor", dtype=SAME)
def nanquantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Quantiles along an axis, ignoring NaN."""
    return _quantile("nanquantile", input, q, axis, keepdims, True)


@op(dtype=SAME)
def quantile_of(
    input: Tensor, q: Any, dim: int | None = None, keep_dims: bool = False, ignore_nan: bool = False
) -> Tensor:
    """Quantiles along an axis."""
    return _quantile("Quantile", input, q, dim, keep_dims, ignore_nan)


Quantile = primitive("Quantile", quantile_of, init=("dim", "keep_dims", "ignore_nan"))


# --- counts -----------------------------------------------------------------------------------------------------


def _count_bins(input: Tensor, bins: int, low: Any, high: Any) -> Tensor:
    counts = torch.histc(input if input.is_floating_point() else input.float(), bins, low, high)
    return counts.to(torch.int32) if not input.is_floating_point() else counts


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """Histogram with `bins` equal bins; over the range of the elements if `min` and `max` are 0."""
    if bins <= 0:
        raise ArgumentValueError(f"For 'histc', 'bins' must be positive, but got {bins}.")
    if min > max:
        raise ArgumentValueError(f"For 'histc', 'min' must not be above 'max', but got {min} and {max}.")
    return _count_bins(input, bins, min, max)


@op("mint:histc", dtype=UNCHECKED, differentiable=False)
def histc_mint(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Histogram with `bins` equal bins; over the range of the elements if `min` and `max` are 0."""
    return torch.histc(input, bins, min, max)


@op(dtype=UNCHECKED, differentiable=False)
def histogram_of(x: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """Histogram with `bins` equal bins."""
    return histc.raw(x, bins, min, max)


Histogram = primitive("Histogram", histogram_of)


@op(dtype=UNCHECKED, differentiable=False)
def histogram_fixed_width(x: Tensor, range: Tensor, nbins: int, dtype: Any = "int32") -> Tensor:
    """Histogram with equal bins over `range`; values outside count in the first or last bin."""
    low, high = range.to(torch.float64)
    bins = ((x.to(torch.float64) - low) / (high - low) * nbins).floor().clamp(0, nbins - 1).long().reshape(-1)
    return torch.zeros(nbins, dtype=torch.int32, device=x.device).index_add(
        0, bins, torch.ones_like(bins, dtype=torch.int32)
    )


HistogramFixedWidth = primitive("HistogramFixedWidth", histogram_fixed_width, init=("nbins", "dtype"))


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Number of occurrences of each non-negative integer, or the sum of its weights."""
    counts = torch.bincount(
        check_integer_indices("bincount", input), None if weights is None else weights.float(), minlength
    )
    return counts.float()


@op("mint:bincount", dtype=UNCHECKED, differentiable=False)
def bincount_mint(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """Number of occurrences of each non-negative integer, or the sum of its weights."""
    return torch.bincount(check_integer_indices("bincount", input), weights, minlength)


@op(dtype=UNCHECKED, differentiable=False)
def bincount_of(array: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """Sum of the weights of each integer in [0, size); larger values are skipped."""
    count = int(size)
    bins = torch.where(array.reshape(-1) < count, array.reshape(-1), count).long()
    increments = weights.reshape(-1) if weights.numel() else torch.ones_like(bins, dtype=weights.dtype)
    return torch.zeros(count + 1, dtype=increments.dtype, device=increments.device).index_add(
        0, bins, increments
    )[:count]


Bincount = primitive("Bincount", bincount_of)


# --- variance and range -----------------------------------------------------------------------------------------------


@op("ops", "Tensor", dtype=SAME)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """Covariance matrix of the rows."""
    return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)


@op("ops", "Tensor", dtype=UNCHECKED)
def aminmax(input: Tensor, *, axis: int | None = 0, keepdims: bool = False) -> Any:
    """Minimum and maximum along an axis, or of all elements."""
    if axis is None or not input.ndim:
        # torch.aminmax of all elements has no derivative before PyTorch 2.12
        dims = () if axis is None else axis
        return torch.amin(input, dims, keepdims), torch.amax(input, dims, keepdims)
    # one of several equal elements gets the whole gradient, as in MindSpore
    return torch.min(input, axis, keepdims).values, torch.max(input, axis, keepdims).values


@op("ops", dtype=UNCHECKED)
def std_mean(input: Tensor, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Standard deviation and mean along axes."""
    return torch.std_mean(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("ops", dtype=UNCHECKED)
def var_mean(input: Tensor, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """Variance and mean along axes."""
    return torch.var_mean(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("mint:std_mean", dtype=UNCHECKED)
def std_mean_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """Standard deviation and mean along axes."""
    return torch.std_mean(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op("mint:var_mean", dtype=UNCHECKED)
def var_mean_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """Variance and mean along axes."""
    return torch.var_mean(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op(dtype=UNCHECKED)
def reduce_std(input_x: Tensor, axis: Any = (), unbiased: bool = True, keep_dims: bool = False) -> Any:
    """Standard deviation and mean along axes."""
    return torch.std_mean(
        input_x, normalize_axes(axis, input_x.ndim), correction=int(unbiased), keepdim=keep_dims
    )


ReduceStd = primitive("ReduceStd", reduce_std, axis=[])


@op("ops", "Tensor", dtype=UNCHECKED)
def nanmean(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Mean along axes, ignoring NaN."""
    return torch.nanmean(input, normalize_axes(axis, input.ndim), keepdims, dtype=dtype)


def _nansum(input: Tensor, over: Any, keep: bool, dtype: Any) -> Tensor:
    return torch.nansum(input, normalize_axes(over, input.ndim), keep, dtype=dtype or input.dtype)


@op("ops", "Tensor", dtype=UNCHECKED, also={"dim": "axis", "keepdim": "keepdims"})
def nansum(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum along axes, ignoring NaN."""
    return _nansum(input, axis, keepdims, dtype)


@op("mint:nansum", dtype=UNCHECKED)
def nansum_mint(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Sum along axes, ignoring NaN."""
    return torch.nansum(input, normalize_axes(dim, input.ndim), keepdim, dtype=dtype)


@op("Tensor", dtype=SAME)
def ptp(input: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Peak-to-peak range along axes: maximum minus minimum."""
    over = normalize_axes(axis, input.ndim)
    return torch.amax(input, over, keepdims) - torch.amin(input, over, keepdims)


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def confusion_matrix(
    labels: Tensor,
    predictions: Tensor,
    weights: Tensor | None = None,
    num_classes: int = 2,
    dtype: str = "int32",
) -> Tensor:
    """Confusion matrix: entry (i, j) counts labels i predicted as j, or sums their weights."""
    if isinstance(num_classes, bool) or not isinstance(num_classes, int):
        raise ArgumentTypeError(
            f"For 'ConfusionMatrix', 'num_classes' must be an int, but got {num_classes!r}."
        )
    if not isinstance(dtype, str) or not hasattr(torch, dtype):
        raise ArgumentTypeError(f"For 'ConfusionMatrix', 'dtype' must be a type's name, but got {dtype!r}.")
    if labels.ndim != 1 or labels.shape != predictions.shape:
        raise ArgumentValueError(
            f"For 'ConfusionMatrix', labels and predictions must be lists of one length, but the shapes are "
            f"{list(labels.shape)} and {list(predictions.shape)}."
        )
    count_dtype = getattr(torch, dtype)
    counts = torch.zeros(num_classes * num_classes, dtype=count_dtype, device=labels.device)
    added = torch.ones_like(labels, dtype=count_dtype) if weights is None else weights.to(count_dtype)
    cells = labels.long() * num_classes + predictions.long()
    return counts.index_add_(0, cells, added).reshape(num_classes, num_classes)


ConfusionMatrix = primitive(
    "ConfusionMatrix", confusion_matrix, ("num_classes", "dtype"), num_classes=inspect.Parameter.empty
)


@op(accepts=FLOATS, dtype=UNCHECKED)
def moments(x: Tensor, axis: Any = None, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes."""
    variance, mean = torch.var_mean(
        x, normalize_axes(() if axis is None else axis, x.ndim), correction=0, keepdim=keep_dims
    )
    return mean, variance

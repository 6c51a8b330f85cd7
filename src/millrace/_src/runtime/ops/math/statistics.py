"""Medians, quantiles, counts and spreads."""

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
    """The middle element along an axis (the lower of two), and where it was."""
    return torch.median(input, normalize_axis("Median", axis, input.ndim or 1), keepdims)


@op("Tensor:median", dtype=UNCHECKED, also={"dim": "axis", "keepdim": "keepdims"})
def median_method(input: Tensor, axis: int = -1, keepdims: bool = False) -> Any:
    """The middle element along an axis (the lower of two), and where it was."""
    return median.raw(input, axis, keepdims)


@op("mint:median", dtype=UNCHECKED)
def median_mint(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle element of all, or along an axis with where it was."""
    return torch.median(input) if dim is None else torch.median(input, dim, keepdim)


@op("ops", "Tensor", dtype=UNCHECKED)
def nanmedian(input: Tensor, axis: int = -1, keepdims: bool = False) -> Any:
    """The middle element along an axis, nan left out, and where it was."""
    return torch.nanmedian(input, normalize_axis("nanmedian", axis, input.ndim or 1), keepdims)


@op(dtype=UNCHECKED)
def median_of(
    x: Tensor, global_median: bool = False, axis: int = 0, keep_dims: bool = False, ignore_nan: bool = False
) -> Any:
    """The middle element of all or along an axis, and where it was; of all, the place is 0."""
    if global_median:
        made = torch.nanmedian(x) if ignore_nan else torch.median(x)
        return made, torch.zeros((), dtype=torch.int64, device=x.device)
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
    """The value below which a share of the elements lies."""
    return _quantile("quantile", input, q, axis, keepdims, False)


@op("ops", "Tensor", dtype=SAME)
def nanquantile(input: Tensor, q: Any, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The value below which a share of the elements lies, nan left out."""
    return _quantile("nanquantile", input, q, axis, keepdims, True)


@op(dtype=SAME)
def quantile_of(
    input: Tensor, q: Any, dim: int | None = None, keep_dims: bool = False, ignore_nan: bool = False
) -> Tensor:
    """The value below which a share of the elements lies."""
    return _quantile("Quantile", input, q, dim, keep_dims, ignore_nan)


Quantile = primitive("Quantile", quantile_of, init=("dim", "keep_dims", "ignore_nan"))


# --- counts -----------------------------------------------------------------------------------------------------


def _counts(input: Tensor, bins: int, low: Any, high: Any) -> Tensor:
    made = torch.histc(input if input.is_floating_point() else input.float(), bins, low, high)
    return made.to(torch.int32) if not input.is_floating_point() else made


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def histc(input: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements lie in each of so many equal intervals; of the whole range where min and max are 0."""
    if bins <= 0:
        raise ArgumentValueError(f"For 'histc', 'bins' must be positive, but got {bins}.")
    if min > max:
        raise ArgumentValueError(f"For 'histc', 'min' must not be above 'max', but got {min} and {max}.")
    return _counts(input, bins, min, max)


@op("mint:histc", dtype=UNCHECKED, differentiable=False)
def histc_mint(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """How many elements lie in each of so many equal intervals; of the whole range where min and max are 0."""
    return torch.histc(input, bins, min, max)


@op(dtype=UNCHECKED, differentiable=False)
def histogram_of(x: Tensor, bins: int = 100, min: float = 0.0, max: float = 0.0) -> Tensor:
    """How many elements lie in each of so many equal intervals."""
    return histc.raw(x, bins, min, max)


Histogram = primitive("Histogram", histogram_of)


@op(dtype=UNCHECKED, differentiable=False)
def histogram_fixed_width(x: Tensor, range: Tensor, nbins: int, dtype: Any = "int32") -> Tensor:
    """How many elements lie in each of so many equal intervals of a range; those outside count at its ends."""
    low, high = range.to(torch.float64)
    places = (
        ((x.to(torch.float64) - low) / (high - low) * nbins).floor().clamp(0, nbins - 1).long().reshape(-1)
    )
    return torch.zeros(nbins, dtype=torch.int32, device=x.device).index_add(
        0, places, torch.ones_like(places, dtype=torch.int32)
    )


HistogramFixedWidth = primitive("HistogramFixedWidth", histogram_fixed_width, init=("nbins", "dtype"))


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of its weights."""
    made = torch.bincount(
        check_integer_indices("bincount", input), None if weights is None else weights.float(), minlength
    )
    return made.float()


@op("mint:bincount", dtype=UNCHECKED, differentiable=False)
def bincount_mint(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs, or the sum of its weights."""
    return torch.bincount(check_integer_indices("bincount", input), weights, minlength)


@op(dtype=UNCHECKED, differentiable=False)
def bincount_of(array: Tensor, size: Tensor, weights: Tensor) -> Tensor:
    """The sum of the weights of each number from 0 up to `size`; larger ones are left out."""
    count = int(size)
    places = torch.where(array.reshape(-1) < count, array.reshape(-1), count).long()
    given = weights.reshape(-1) if weights.numel() else torch.ones_like(places, dtype=weights.dtype)
    return torch.zeros(count + 1, dtype=given.dtype, device=given.device).index_add(0, places, given)[:count]


Bincount = primitive("Bincount", bincount_of)


# --- spreads ----------------------------------------------------------------------------------------------------


@op("ops", "Tensor", dtype=SAME)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of rows."""
    return torch.cov(input, correction=correction, fweights=fweights, aweights=aweights)


@op("ops", "Tensor", dtype=UNCHECKED)
def aminmax(input: Tensor, *, axis: int | None = 0, keepdims: bool = False) -> Any:
    """The smallest and the largest elements along an axis, or of all."""
    if axis is None or not input.ndim:
        # torch.aminmax of all elements has no derivative before PyTorch 2.12
        dims = () if axis is None else axis
        return torch.amin(input, dims, keepdims), torch.amax(input, dims, keepdims)
    # one of several equal elements has the whole gradient, as in MindSpore
    return torch.min(input, axis, keepdims).values, torch.max(input, axis, keepdims).values


@op("ops", dtype=UNCHECKED)
def std_mean(input: Tensor, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The standard deviation and the mean along axes."""
    return torch.std_mean(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("ops", dtype=UNCHECKED)
def var_mean(input: Tensor, axis: Any = None, ddof: Any = 0, keepdims: bool = False) -> Any:
    """The variance and the mean along axes."""
    return torch.var_mean(input, normalize_axes(axis, input.ndim), correction=int(ddof), keepdim=keepdims)


@op("mint:std_mean", dtype=UNCHECKED)
def std_mean_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The standard deviation and the mean along axes."""
    return torch.std_mean(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op("mint:var_mean", dtype=UNCHECKED)
def var_mean_mint(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Any:
    """The variance and the mean along axes."""
    return torch.var_mean(input, normalize_axes(dim, input.ndim), correction=correction, keepdim=keepdim)


@op(dtype=UNCHECKED)
def reduce_std(input_x: Tensor, axis: Any = (), unbiased: bool = True, keep_dims: bool = False) -> Any:
    """The standard deviation and the mean along axes."""
    return torch.std_mean(
        input_x, normalize_axes(axis, input_x.ndim), correction=int(unbiased), keepdim=keep_dims
    )


ReduceStd = primitive("ReduceStd", reduce_std, axis=[])


@op("ops", "Tensor", dtype=UNCHECKED)
def nanmean(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean along axes, nan left out."""
    return torch.nanmean(input, normalize_axes(axis, input.ndim), keepdims, dtype=dtype)


def _nansum(input: Tensor, over: Any, keep: bool, dtype: Any) -> Tensor:
    return torch.nansum(input, normalize_axes(over, input.ndim), keep, dtype=dtype or input.dtype)


@op("ops", "Tensor", dtype=UNCHECKED, also={"dim": "axis", "keepdim": "keepdims"})
def nansum(input: Tensor, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum along axes, nan left out."""
    return _nansum(input, axis, keepdims, dtype)


@op("mint:nansum", dtype=UNCHECKED)
def nansum_mint(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum along axes, nan left out."""
    return torch.nansum(input, normalize_axes(dim, input.ndim), keepdim, dtype=dtype)


@op("Tensor", dtype=SAME)
def ptp(input: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest element along axes."""
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
    """How often each class (row) was taken for each (column); with weights, their sum."""
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
    kind = getattr(torch, dtype)
    counts = torch.zeros(num_classes * num_classes, dtype=kind, device=labels.device)
    added = torch.ones_like(labels, dtype=kind) if weights is None else weights.to(kind)
    place = labels.long() * num_classes + predictions.long()
    return counts.index_add_(0, place, added).reshape(num_classes, num_classes)


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

"""Histograms with NumPy's names."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .type_promotion import to_array, to_floating

__all__ = ["histogram", "histogram2d", "histogram_bin_edges", "histogramdd"]


def _edges(a: Tensor, bins: Any, limits: Any) -> Tensor:
    """The edges of bins: given, or so many of one width over the values or `range`."""
    if not isinstance(bins, int) or isinstance(bins, bool):
        edges = to_array(bins)
        if edges.ndim != 1:
            raise ArgumentTypeError("For 'histogram', the bins must be an int or a vector of edges.")
        return edges
    flat = to_floating(a).reshape(-1)
    if limits is None:
        low, high = (flat.amin(), flat.amax()) if flat.numel() else (flat.new_zeros(()), flat.new_ones(()))
    else:
        low, high = (torch.tensor(float(each), device=flat.device) for each in limits)
    flatten = (low == high).to(flat.dtype) / 2
    width = high - low + 2 * flatten
    line = torch.linspace(0, 1, bins + 1, dtype=flat.dtype, device=flat.device) * width + (low - flatten)
    return torch.cat((line[:-1], (high + flatten).reshape(1)))  # exactly: the largest value must not fall out


def _counts(samples: list[Tensor], edges: list[Tensor], weights: Any, density: bool) -> Tensor:
    """How many samples, or what weight, falls into each cell; the last edge belongs to the last bin."""
    place = torch.zeros_like(samples[0], dtype=torch.int64)
    inside = torch.ones_like(samples[0], dtype=torch.bool)
    for values, line in zip(samples, edges):
        line = to_floating(line)
        found = torch.searchsorted(line.contiguous(), values.to(line.dtype).contiguous(), side="right") - 1
        found = torch.where(values == line[-1], line.numel() - 2, found)
        inside = inside & (found >= 0) & (found < line.numel() - 1)
        place = place * (line.numel() - 1) + found.clamp(0, line.numel() - 2)
    ones = place.new_ones(place.shape, dtype=torch.float32)
    weight = ones if weights is None else to_floating(to_array(weights)).reshape(-1)
    shape = [line.numel() - 1 for line in edges]
    made = weight.new_zeros(math.prod(shape)).index_add(0, place, weight * inside).reshape(shape)
    if not density:
        return made
    for axis, line in enumerate(edges):
        made = made / torch.diff(to_floating(line)).reshape(
            [-1 if axis == each else 1 for each in range(len(edges))]
        )
    return made / (weight * inside).sum()


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of the bins that `histogram` counts in."""
    return _edges(to_array(a), bins, range)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """How many values fall into each bin, and the edges of the bins."""
    values = to_array(a)
    edges = _edges(values, bins, range)
    return _counts([values.reshape(-1)], [edges], weights, density), edges


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """How many points fall into each cell, and the edges along each axis; a point is a row."""
    points = list(
        torch.stack([to_array(e) for e in sample])
        if isinstance(sample, (list, tuple))
        else to_array(sample).T
    )
    count = len(points)
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    limits = [None] * count if range is None else list(range)
    edges = [_edges(values, size, limit) for values, size, limit in zip(points, each, limits)]
    return _counts(points, edges, weights, density), edges


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """How many points fall into each cell of a plane, and the edges along both axes."""
    found, edges = histogramdd.raw([to_array(x), to_array(y)], bins, range, weights, density)
    return (found, *edges)

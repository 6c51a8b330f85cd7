"""NumPy histograms: histogram, histogram2d, histogramdd."""

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


def _bin_edges(a: Tensor, bins: Any, limits: Any) -> Tensor:
    """Bin edges: given, or equal widths over the values or `range`."""
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
    return torch.cat(
        (line[:-1], (high + flatten).reshape(1))
    )  # exact, so that the largest value stays inside


def _count_cells(samples: list[Tensor], edges: list[Tensor], weights: Any, density: bool) -> Tensor:
    """Count, or weight, of the samples per cell; the last edge belongs to the last bin."""
    cells = torch.zeros_like(samples[0], dtype=torch.int64)
    inside = torch.ones_like(samples[0], dtype=torch.bool)
    for values, line in zip(samples, edges):
        line = to_floating(line)
        bin_indices = (
            torch.searchsorted(line.contiguous(), values.to(line.dtype).contiguous(), side="right") - 1
        )
        bin_indices = torch.where(values == line[-1], line.numel() - 2, bin_indices)
        inside = inside & (bin_indices >= 0) & (bin_indices < line.numel() - 1)
        cells = cells * (line.numel() - 1) + bin_indices.clamp(0, line.numel() - 2)
    ones = cells.new_ones(cells.shape, dtype=torch.float32)
    weight = ones if weights is None else to_floating(to_array(weights)).reshape(-1)
    shape = [line.numel() - 1 for line in edges]
    counts = weight.new_zeros(math.prod(shape)).index_add(0, cells, weight * inside).reshape(shape)
    if not density:
        return counts
    for axis, line in enumerate(edges):
        counts = counts / torch.diff(to_floating(line)).reshape(
            [-1 if axis == each else 1 for each in range(len(edges))]
        )
    return counts / (weight * inside).sum()


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """Bin edges that `histogram` uses."""
    return _bin_edges(to_array(a), bins, range)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """Histogram of values: counts per bin, and the bin edges."""
    values = to_array(a)
    edges = _bin_edges(values, bins, range)
    return _count_cells([values.reshape(-1)], [edges], weights, density), edges


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """Multidimensional histogram: counts per cell, and the edges along each axis; a point is a row."""
    points = list(
        torch.stack([to_array(e) for e in sample])
        if isinstance(sample, (list, tuple))
        else to_array(sample).T
    )
    count = len(points)
    each = list(bins) if isinstance(bins, (list, tuple)) else [bins] * count
    limits = [None] * count if range is None else list(range)
    edges = [_bin_edges(values, size, limit) for values, size, limit in zip(points, each, limits)]
    return _count_cells(points, edges, weights, density), edges


@op("numpy", dtype=UNCHECKED, differentiable=False)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> Any:
    """Two-dimensional histogram: counts per cell, and the edges along both axes."""
    counts, edges = histogramdd.raw([to_array(x), to_array(y)], bins, range, weights, density)
    return (counts, *edges)

"""Segment reductions: segment_sum, unsorted_segment_max, sparse_segment_mean."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.index_arguments import check_integer_indices
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "SegmentMax",
    "SegmentMean",
    "SegmentMin",
    "SegmentProd",
    "SegmentSum",
    "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "UnsortedSegmentProd",
    "UnsortedSegmentSum",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
    "sparse_segment_mean",
    "unsorted_segment_max",
    "unsorted_segment_min",
    "unsorted_segment_prod",
    "unsorted_segment_sum",
]


def _empty_segment_value(dtype: torch.dtype, largest: bool) -> Any:
    """Value of an empty segment under max and min: the end of the dtype's range."""
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return limits.min if largest else limits.max


def _reduce_segments(name: str, input: Tensor, ids: Tensor, count: int, how: str, empty: Any) -> Tensor:
    """Reduce rows by segment id; rows with a negative id are skipped."""
    ids = check_integer_indices(name, ids).long()
    if input.shape[: ids.ndim] != ids.shape:
        raise ArgumentValueError(
            f"For '{name}', the first axes of the input must be those of the segment ids, but got shapes "
            f"{tuple(input.shape)} and {tuple(ids.shape)}."
        )
    rest = input.shape[ids.ndim :]
    rows = input.reshape(ids.numel(), *rest)
    groups = torch.where(ids < 0, count, ids).reshape(
        -1
    )  # an additional group for negative ids, removed afterwards
    reduced = input.new_full((count + 1, *rest), empty)
    if how == "sum":
        return reduced.index_add(0, groups, rows)[:count]
    wide = groups.reshape(-1, *[1] * len(rest)).expand_as(rows)
    return reduced.scatter_reduce(0, wide, rows, how)[:count]


@op("ops", dtype=SAME)
def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """Sum of the rows of each segment."""
    return _reduce_segments("UnsortedSegmentSum", input_x, segment_ids, int(num_segments), "sum", 0)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """Elementwise maximum of the rows of each segment; the lowest value of the dtype for an empty segment."""
    empty = _empty_segment_value(x.dtype, largest=True)
    return _reduce_segments("UnsortedSegmentMax", x, segment_ids, int(num_segments), "amax", empty)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """Elementwise minimum of the rows of each segment; the highest value of the dtype for an empty segment."""
    empty = _empty_segment_value(x.dtype, largest=False)
    return _reduce_segments("UnsortedSegmentMin", x, segment_ids, int(num_segments), "amin", empty)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """Product of the rows of each segment."""
    return _reduce_segments("UnsortedSegmentProd", x, segment_ids, int(num_segments), "prod", 1)


UnsortedSegmentSum = primitive("UnsortedSegmentSum", unsorted_segment_sum, init=())
UnsortedSegmentMax = primitive("UnsortedSegmentMax", unsorted_segment_max, init=())
UnsortedSegmentMin = primitive("UnsortedSegmentMin", unsorted_segment_min, init=())
UnsortedSegmentProd = primitive("UnsortedSegmentProd", unsorted_segment_prod, init=())


def _reduce_sorted_segments(
    name: str, input: Tensor, ids: Tensor, how: str, empty: Any
) -> tuple[Tensor, Tensor]:
    """Reduce sorted segments: the last id determines their number. Empty segments hold `empty`."""
    count = int(check_integer_indices(name, ids)[-1]) + 1 if ids.numel() else 0
    sizes = torch.bincount(ids, minlength=count)
    start = {"sum": 0, "prod": 1}.get(how)
    if start is None:
        start = _empty_segment_value(input.dtype, largest=how == "amax")
    reduced = _reduce_segments(name, input, ids, count, how, start)
    filled = (sizes > 0).reshape(-1, *[1] * (input.ndim - 1))
    return torch.where(filled, reduced, torch.full_like(reduced, empty)), sizes


@op(dtype=SAME)
def segment_sum(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """Sum of the rows of each segment; segment ids are sorted."""
    return _reduce_sorted_segments("SegmentSum", input_x, segment_ids, "sum", 0)[0]


@op(dtype=SAME)
def segment_prod(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """Product of the rows of each segment; segment ids are sorted."""
    return _reduce_sorted_segments("SegmentProd", input_x, segment_ids, "prod", 1)[0]


@op(dtype=SAME)
def segment_max(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """Elementwise maximum of the rows of each segment; segment ids are sorted."""
    return _reduce_sorted_segments("SegmentMax", input_x, segment_ids, "amax", 0)[0]


@op(dtype=SAME)
def segment_min(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """Elementwise minimum of the rows of each segment; segment ids are sorted."""
    return _reduce_sorted_segments("SegmentMin", input_x, segment_ids, "amin", 0)[0]


@op(dtype=SAME)
def segment_mean(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """Mean of the rows of each segment; segment ids are sorted."""
    sums, sizes = _reduce_sorted_segments("SegmentMean", input_x, segment_ids, "sum", 0)
    shares = sizes.clamp(min=1).reshape(-1, *[1] * (input_x.ndim - 1)).to(input_x.dtype)
    return sums / shares if input_x.is_floating_point() else sums.div(shares, rounding_mode="trunc")


SegmentSum = primitive("SegmentSum", segment_sum)
SegmentProd = primitive("SegmentProd", segment_prod)
SegmentMax = primitive("SegmentMax", segment_max)
SegmentMin = primitive("SegmentMin", segment_min)
SegmentMean = primitive("SegmentMean", segment_mean)


@op("ops", dtype=SAME)
def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """Mean of the selected rows of each segment."""
    return segment_mean.raw(
        torch.index_select(x, 0, check_integer_indices("sparse_segment_mean", indices)), segment_ids
    )

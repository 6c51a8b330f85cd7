"""Sums, products and extremes of groups of rows."""

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


def _lowest(dtype: torch.dtype, largest: bool) -> Any:
    """What an empty group holds under max and min: the end of the type's range."""
    limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return limits.min if largest else limits.max


def _grouped(name: str, input: Tensor, ids: Tensor, count: int, how: str, empty: Any) -> Tensor:
    """Rows put together by the number of their group; rows with a number below 0 are left out."""
    ids = check_integer_indices(name, ids).long()
    if input.shape[: ids.ndim] != ids.shape:
        raise ArgumentValueError(
            f"For '{name}', the first axes of the input must be those of the segment ids, but got shapes "
            f"{tuple(input.shape)} and {tuple(ids.shape)}."
        )
    rest = input.shape[ids.ndim :]
    rows = input.reshape(ids.numel(), *rest)
    places = torch.where(ids < 0, count, ids).reshape(-1)  # one group more, which is cut off again
    made = input.new_full((count + 1, *rest), empty)
    if how == "sum":
        return made.index_add(0, places, rows)[:count]
    wide = places.reshape(-1, *[1] * len(rest)).expand_as(rows)
    return made.scatter_reduce(0, wide, rows, how)[:count]


@op("ops", dtype=SAME)
def unsorted_segment_sum(input_x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The sums of the rows of each group."""
    return _grouped("UnsortedSegmentSum", input_x, segment_ids, int(num_segments), "sum", 0)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_max(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The largest of each group, element by element; the least number there is for an empty one."""
    empty = _lowest(x.dtype, largest=True)
    return _grouped("UnsortedSegmentMax", x, segment_ids, int(num_segments), "amax", empty)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_min(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The smallest of each group, element by element; the largest number there is for an empty one."""
    empty = _lowest(x.dtype, largest=False)
    return _grouped("UnsortedSegmentMin", x, segment_ids, int(num_segments), "amin", empty)


@op("ops", "Tensor", dtype=SAME)
def unsorted_segment_prod(x: Tensor, segment_ids: Tensor, num_segments: Any) -> Tensor:
    """The products of the rows of each group."""
    return _grouped("UnsortedSegmentProd", x, segment_ids, int(num_segments), "prod", 1)


UnsortedSegmentSum = primitive("UnsortedSegmentSum", unsorted_segment_sum, init=())
UnsortedSegmentMax = primitive("UnsortedSegmentMax", unsorted_segment_max, init=())
UnsortedSegmentMin = primitive("UnsortedSegmentMin", unsorted_segment_min, init=())
UnsortedSegmentProd = primitive("UnsortedSegmentProd", unsorted_segment_prod, init=())


def _sorted(name: str, input: Tensor, ids: Tensor, how: str, empty: Any) -> tuple[Tensor, Tensor]:
    """Groups that follow each other: the last number says how many there are. Empty groups hold `empty`."""
    count = int(check_integer_indices(name, ids)[-1]) + 1 if ids.numel() else 0
    sizes = torch.bincount(ids, minlength=count)
    start = {"sum": 0, "prod": 1}.get(how)
    if start is None:
        start = _lowest(input.dtype, largest=how == "amax")
    made = _grouped(name, input, ids, count, how, start)
    filled = (sizes > 0).reshape(-1, *[1] * (input.ndim - 1))
    return torch.where(filled, made, torch.full_like(made, empty)), sizes


@op(dtype=SAME)
def segment_sum(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """The sums of runs of rows."""
    return _sorted("SegmentSum", input_x, segment_ids, "sum", 0)[0]


@op(dtype=SAME)
def segment_prod(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """The products of runs of rows."""
    return _sorted("SegmentProd", input_x, segment_ids, "prod", 1)[0]


@op(dtype=SAME)
def segment_max(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """The largest of runs of rows, element by element."""
    return _sorted("SegmentMax", input_x, segment_ids, "amax", 0)[0]


@op(dtype=SAME)
def segment_min(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """The smallest of runs of rows, element by element."""
    return _sorted("SegmentMin", input_x, segment_ids, "amin", 0)[0]


@op(dtype=SAME)
def segment_mean(input_x: Tensor, segment_ids: Tensor) -> Tensor:
    """The means of runs of rows."""
    made, sizes = _sorted("SegmentMean", input_x, segment_ids, "sum", 0)
    shares = sizes.clamp(min=1).reshape(-1, *[1] * (input_x.ndim - 1)).to(input_x.dtype)
    return made / shares if input_x.is_floating_point() else made.div(shares, rounding_mode="trunc")


SegmentSum = primitive("SegmentSum", segment_sum)
SegmentProd = primitive("SegmentProd", segment_prod)
SegmentMax = primitive("SegmentMax", segment_max)
SegmentMin = primitive("SegmentMin", segment_min)
SegmentMean = primitive("SegmentMean", segment_mean)


@op("ops", dtype=SAME)
def sparse_segment_mean(x: Tensor, indices: Tensor, segment_ids: Tensor) -> Tensor:
    """The means of groups of rows that the indices choose."""
    return segment_mean.raw(
        torch.index_select(x, 0, check_integer_indices("sparse_segment_mean", indices)), segment_ids
    )

"""NumPy set and search routines: unique, isin, intersect1d, searchsorted, digitize."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.type_promotion import to_array

__all__ = ["digitize", "in1d", "intersect1d", "isin", "searchsorted", "setdiff1d", "unique"]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Insertion indices of values into a sorted vector."""
    if side not in ("left", "right"):
        raise ArgumentValueError(
            f"For 'searchsorted', the 'side' must be 'left' or 'right', but got {side!r}."
        )
    line, values = (
        each.to(torch.promote_types(to_array(a).dtype, to_array(v).dtype)) for each in map(to_array, (a, v))
    )
    order = None if sorter is None else to_array(sorter).to(torch.int64)
    values = values.to(line.device).contiguous()  # a Python number becomes a tensor on the host
    return torch.searchsorted(line.contiguous(), values, side=side, sorter=order).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """Index of the bin that contains each value; bins may be increasing or decreasing."""
    values, edges = to_array(x), to_array(bins)
    common_dtype = torch.promote_types(values.dtype, edges.dtype)
    values, edges = values.to(common_dtype), edges.to(common_dtype)
    side = "left" if right else "right"
    rising = torch.searchsorted(edges.contiguous(), values.contiguous(), side=side)
    side = "right" if right else "left"
    falling = edges.numel() - torch.searchsorted(edges.flip(0).contiguous(), values.contiguous(), side=side)
    return torch.where(edges[-1] >= edges[0], rising, falling).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def unique(x: Any, return_inverse: bool = False) -> Any:
    """Unique elements in order of first appearance; with `return_inverse` also the index of each input element among
    them.
    """
    flat = to_array(x).reshape(-1)
    values, inverse = torch.unique(flat, return_inverse=True)
    first = torch.full((values.numel(),), flat.numel(), dtype=torch.int64, device=flat.device)
    first = first.scatter_reduce(0, inverse, torch.arange(flat.numel(), device=flat.device), "amin")
    order = torch.argsort(first)
    return (
        (values[order], torch.argsort(order)[inverse].reshape(flat.shape))
        if return_inverse
        else values[order]
    )


def _is_member(element: Any, test_elements: Any, invert: bool) -> Tensor:
    left, right = to_array(element), to_array(test_elements)
    common_dtype = torch.promote_types(left.dtype, right.dtype)
    return torch.isin(left.to(common_dtype), right.to(left.device, common_dtype), invert=invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """Whether each element is among the test elements."""
    return _is_member(element, test_elements, invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """Whether each element is among the test elements, flattened."""
    return _is_member(to_array(ar1).reshape(-1), ar2, invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """Sorted unique elements of the first operand that are not in the second."""
    flat = to_array(ar1).reshape(-1)
    flat = flat if assume_unique else torch.unique(flat)
    return flat[_is_member(flat, ar2, True)]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Sorted elements that are in both operands; with `return_indices` also their first indices."""
    left, right = to_array(ar1).reshape(-1), to_array(ar2).reshape(-1)
    common = torch.unique(left)
    common = common[_is_member(common, right, False)]
    if not return_indices:
        return common
    indices = [
        torch.argmax((side == common.unsqueeze(-1)).to(torch.int8), -1).to(torch.int32)
        for side in (left, right)
    ]
    return (common, *indices)

"""Sorting and searching: sort, topk, unique, searchsorted, bucketize."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, INT32, INT64, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import normalize_axis
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Bucketize",
    "InTopK",
    "LowerBound",
    "NthElement",
    "SearchSorted",
    "Sort",
    "TopK",
    "Unique",
    "UniqueConsecutive",
    "UniqueWithPad",
    "UpperBound",
    "argsort",
    "argsort_mint",
    "bucketize",
    "bucketize_left",
    "intopk",
    "kthvalue",
    "lower_bound",
    "msort",
    "nth_element",
    "search_sorted",
    "searchsorted",
    "searchsorted_method",
    "sort",
    "sort_method",
    "sort_mint",
    "top_k",
    "top_k_method",
    "topk",
    "topk_mint",
    "unique",
    "unique_consecutive",
    "unique_consecutive_primitive",
    "unique_in_order",
    "unique_mint",
    "unique_primitive",
    "unique_with_pad",
    "unique_with_pad_method",
    "upper_bound",
]


def _sort(name: str, input: Tensor, axis: Any, descending: bool) -> tuple[Tensor, Tensor]:
    """Sorted values and their indices as int32; the sort is stable."""
    values, indices = torch.sort(
        input, dim=normalize_axis(name, axis, input.ndim), descending=descending, stable=True
    )
    return values, indices.int()


@op("ops", dtype=UNCHECKED)
def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> Any:
    """Sort the elements along an axis; returns values and indices."""
    return _sort("Sort", input_x, axis, descending)


@op("Tensor:sort", dtype=UNCHECKED, also={"dim": "axis"})
def sort_method(input: Tensor, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort the elements along an axis; returns values and indices."""
    return _sort("Sort", input, axis, descending)


@op("mint:sort", dtype=UNCHECKED)
def sort_mint(input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """Sort the elements along an axis; returns values and indices."""
    return torch.sort(input, dim=dim, descending=descending, stable=stable)


Sort = primitive("Sort", sort)


@op("ops", "Tensor", dtype=INT32, differentiable=False, also={"dim": "axis"})
def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """Indices that sort the elements along an axis."""
    return _sort("argsort", input, axis, descending)[1]


@op("mint:argsort", dtype=INT64, differentiable=False)
def argsort_mint(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Indices that sort the elements along an axis."""
    return torch.argsort(input, dim=dim, descending=descending, stable=stable)


@op("ops", "Tensor", dtype=SAME)
def msort(input: Tensor) -> Tensor:
    """Sort the elements along the first axis."""
    return torch.msort(input)


def _topk(name: str, input: Tensor, k: Any, dim: Any, largest: bool, sorted: bool) -> tuple[Tensor, Tensor]:
    at = normalize_axis(name, dim, input.ndim)
    if isinstance(k, bool) or not isinstance(k, (int, Tensor)):
        raise ArgumentTypeError(f"For '{name}', 'k' must be an int, but got {k!r}.")
    count = int(k)
    if not 0 < count <= input.shape[at]:
        raise ArgumentValueError(f"For '{name}', 'k' must be in (0, {input.shape[at]}], but got {count}.")
    values, indices = torch.topk(input, count, at, largest, sorted)
    return values, indices.int()


@op("ops", "Tensor", dtype=UNCHECKED)
def topk(input: Tensor, k: Any, dim: int | None = None, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along an axis, and their indices."""
    return _topk("TopK", input, k, -1 if dim is None else dim, largest, sorted)


@op("mint:topk", dtype=UNCHECKED)
def topk_mint(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest (or smallest) elements along an axis, and their indices."""
    return torch.topk(input, k, dim, largest, sorted)


@op("ops", dtype=UNCHECKED)
def top_k(input_x: Tensor, k: Any, sorted: bool = True) -> Any:
    """The `k` largest elements along the last axis, and their indices."""
    return _topk("TopK", input_x, k, -1, True, sorted)


@op("Tensor:top_k", dtype=UNCHECKED)
def top_k_method(input: Tensor, k: Any, sorted: bool = True) -> Any:
    """The `k` largest elements along the last axis, and their indices."""
    return _topk("TopK", input, k, -1, True, sorted)


TopK = primitive("TopK", top_k, init=("sorted",))


@op("mint", "Tensor", dtype=UNCHECKED)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along an axis, and its index."""
    return torch.kthvalue(input, k, dim, keepdim)


@op(dtype=SAME)
def nth_element(input: Tensor, n: Any, reverse: bool = False) -> Tensor:
    """The n-th smallest element along the last axis, counted from 0; with `reverse`, the n-th largest."""
    position = input.shape[-1] - 1 - int(n) if reverse else int(n)
    if not 0 <= position < input.shape[-1]:
        raise ArgumentValueError(
            f"For 'NthElement', 'n' must be in [0, {input.shape[-1]}), but got {int(n)}."
        )
    return torch.kthvalue(input, position + 1).values


NthElement = primitive("NthElement", nth_element, init=("reverse",))


@op("ops", dtype=BOOL, differentiable=False)
def intopk(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """Whether the class `x2[i]` is among the `k` largest scores of row i."""
    chosen = torch.gather(x1, 1, x2.long().unsqueeze(1))
    return ((x1 > chosen).sum(1) < k) & chosen.squeeze(1).isfinite()


InTopK = primitive("InTopK", intopk, init=("k",))


# --- unique elements -------------------------------------------------------------------------------------------


def unique_in_order(input: Tensor) -> tuple[Tensor, Tensor]:
    """Unique elements in order of first appearance, and the index of each input element among them."""
    values, numbers = torch.unique(input.reshape(-1), return_inverse=True)
    positions = torch.arange(numbers.numel(), device=input.device)
    first = torch.full_like(values, numbers.numel(), dtype=torch.int64).scatter_reduce(
        0, numbers, positions, "amin"
    )
    order = torch.argsort(first)
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device=input.device))
    index_dtype = torch.int64 if input.dtype is torch.int64 else torch.int32
    return values[order], ranks[numbers].reshape(input.shape).to(index_dtype)


@op("ops", dtype=UNCHECKED, differentiable=False)
def unique(input: Tensor) -> Any:
    """Unique elements in order of first appearance, and the index of each input element among them."""
    return unique_in_order(input)


@op(dtype=UNCHECKED, differentiable=False)
def unique_primitive(x: Tensor) -> Any:
    """Unique elements in order of first appearance, and the index of each input element among them."""
    return unique_in_order(x)


Unique = primitive("Unique", unique_primitive)


@op("Tensor:unique", "mint:unique", dtype=UNCHECKED, differentiable=False)
def unique_mint(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Sorted unique elements; on request the index of each input element among them and the counts."""
    result = torch.unique(input, sorted, return_inverse, return_counts, dim)
    return tuple(result) if isinstance(result, tuple) else result


@op("ops", "mint", "Tensor", dtype=UNCHECKED, differentiable=False)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Elements without consecutive duplicates; on request the index of the run of each input element and the run
    lengths.
    """
    result = torch.unique_consecutive(input, return_inverse, return_counts, dim)
    return tuple(result) if isinstance(result, tuple) else result


@op(dtype=UNCHECKED, differentiable=False)
def unique_consecutive_primitive(
    x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Elements without consecutive duplicates, the index of the run of each input element, and the run lengths."""
    values, numbers, counts = torch.unique_consecutive(x, True, True, dim)
    none = numbers.new_zeros(0)
    return values, numbers if return_inverse else none, counts if return_counts else none


UniqueConsecutive = primitive("UniqueConsecutive", unique_consecutive_primitive)


@op("ops", dtype=UNCHECKED, differentiable=False)
def unique_with_pad(x: Tensor, pad_num: Any) -> Any:
    """Unique elements, padded to the length of the input, and the index of each input element among them."""
    values, numbers = unique_in_order(x)
    padded = torch.full_like(x, int(pad_num) if isinstance(pad_num, Tensor) else pad_num)
    padded[: values.numel()] = values
    return padded, numbers


@op("Tensor:unique_with_pad", dtype=UNCHECKED, differentiable=False)
def unique_with_pad_method(input: Tensor, pad_num: Any) -> Any:
    """Unique elements, padded to the length of the input, and the index of each input element among them."""
    return unique_with_pad.raw(input, pad_num)


UniqueWithPad = primitive("UniqueWithPad", unique_with_pad, init=())


@op(dtype=UNCHECKED, differentiable=False)
def upper_bound(sorted_x: Tensor, values: Tensor, out_type: Any = torch.int32) -> Tensor:
    """Per row, insertion index of each value into the sorted row, after equal elements."""
    return torch.searchsorted(sorted_x, values, right=True).to(out_type)


@op(dtype=UNCHECKED, differentiable=False)
def lower_bound(sorted_x: Tensor, values: Tensor, out_type: Any = torch.int32) -> Tensor:
    """Per row, insertion index of each value into the sorted row, before equal elements."""
    return torch.searchsorted(sorted_x, values).to(out_type)


UpperBound = primitive("UpperBound", upper_bound)
LowerBound = primitive("LowerBound", lower_bound)


@op("ops", "mint", dtype=UNCHECKED, differentiable=False)
def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Indices at which values are inserted into sorted rows."""
    if side not in (None, "left", "right"):
        raise ArgumentValueError(f"For 'searchsorted', 'side' must be 'left' or 'right', but got {side!r}.")
    if right and side == "left":
        raise ArgumentValueError(
            "For 'searchsorted', expected one of 'side' and 'right', got side='left' and right=True. Omit one of them."
        )
    if not isinstance(values, Tensor):
        values = torch.as_tensor(values, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    on_right = right or side == "right"
    # contiguous input avoids a warning of PyTorch
    sorted_sequence, values = sorted_sequence.contiguous(), values.contiguous()
    return torch.searchsorted(sorted_sequence, values, out_int32=out_int32, right=on_right, sorter=sorter)


@op("Tensor:searchsorted", dtype=UNCHECKED, differentiable=False)
def searchsorted_method(input: Tensor, v: Any, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Indices at which values are inserted into the sorted tensor."""
    if side not in ("left", "right"):
        raise ArgumentValueError(f"For 'searchsorted', 'side' must be 'left' or 'right', but got {side!r}.")
    if not isinstance(v, Tensor):
        v = torch.as_tensor(v, device=input.device)
    return torch.searchsorted(
        input.contiguous(), v.contiguous(), out_int32=True, right=side == "right", sorter=sorter
    )


@op(dtype=UNCHECKED, differentiable=False)
def search_sorted(
    sorted_sequence: Tensor,
    values: Tensor,
    sorter: Tensor | None = None,
    dtype: Any = torch.int64,
    right: bool = False,
) -> Tensor:
    """Indices at which values are inserted into sorted rows."""
    return torch.searchsorted(sorted_sequence, values, right=right, sorter=sorter).to(dtype)


SearchSorted = primitive("SearchSorted", search_sorted, init=("dtype", "right"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def bucketize(input: Tensor, boundaries: Any, *, right: bool = False) -> Tensor:
    """Index of the bucket between boundaries that contains each element."""
    limits = torch.as_tensor(boundaries, dtype=torch.float32, device=input.device)
    return torch.bucketize(input.contiguous(), limits, out_int32=True, right=right)


@op(dtype=UNCHECKED, differentiable=False)
def bucketize_left(input: Tensor, boundaries: Any) -> Tensor:
    """Index of the bucket between boundaries that contains each element."""
    return bucketize.raw(input, boundaries, right=True)


Bucketize = primitive("Bucketize", bucketize_left, init=("boundaries",))

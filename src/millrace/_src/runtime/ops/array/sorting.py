"""Order: sorted, the first few, each once, ranks."""

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


def _sorted(name: str, input: Tensor, axis: Any, descending: bool) -> tuple[Tensor, Tensor]:
    """Values and their places as int32, equal ones in their order."""
    made, places = torch.sort(
        input, dim=normalize_axis(name, axis, input.ndim), descending=descending, stable=True
    )
    return made, places.int()


@op("ops", dtype=UNCHECKED)
def sort(input_x: Tensor, axis: int = -1, descending: bool = False) -> Any:
    """The elements along an axis in order, and where each was."""
    return _sorted("Sort", input_x, axis, descending)


@op("Tensor:sort", dtype=UNCHECKED, also={"dim": "axis"})
def sort_method(input: Tensor, axis: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements along an axis in order, and where each was."""
    return _sorted("Sort", input, axis, descending)


@op("mint:sort", dtype=UNCHECKED)
def sort_mint(input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements along an axis in order, and where each was."""
    return torch.sort(input, dim=dim, descending=descending, stable=stable)


Sort = primitive("Sort", sort)


@op("ops", "Tensor", dtype=INT32, differentiable=False, also={"dim": "axis"})
def argsort(input: Tensor, axis: int = -1, descending: bool = False) -> Tensor:
    """The places of the elements along an axis, in the order of the elements."""
    return _sorted("argsort", input, axis, descending)[1]


@op("mint:argsort", dtype=INT64, differentiable=False)
def argsort_mint(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The places of the elements along an axis, in the order of the elements."""
    return torch.argsort(input, dim=dim, descending=descending, stable=stable)


@op("ops", "Tensor", dtype=SAME)
def msort(input: Tensor) -> Tensor:
    """The elements along the first axis in order."""
    return torch.msort(input)


def _topk(name: str, input: Tensor, k: Any, dim: Any, largest: bool, sorted: bool) -> tuple[Tensor, Tensor]:
    at = normalize_axis(name, dim, input.ndim)
    if isinstance(k, bool) or not isinstance(k, (int, Tensor)):
        raise ArgumentTypeError(f"For '{name}', 'k' must be an int, but got {k!r}.")
    count = int(k)
    if not 0 < count <= input.shape[at]:
        raise ArgumentValueError(f"For '{name}', 'k' must be in (0, {input.shape[at]}], but got {count}.")
    made, places = torch.topk(input, count, at, largest, sorted)
    return made, places.int()


@op("ops", "Tensor", dtype=UNCHECKED)
def topk(input: Tensor, k: Any, dim: int | None = None, largest: bool = True, sorted: bool = True) -> Any:
    """The largest (or smallest) elements along an axis, and where they were."""
    return _topk("TopK", input, k, -1 if dim is None else dim, largest, sorted)


@op("mint:topk", dtype=UNCHECKED)
def topk_mint(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The largest (or smallest) elements along an axis, and where they were."""
    return torch.topk(input, k, dim, largest, sorted)


@op("ops", dtype=UNCHECKED)
def top_k(input_x: Tensor, k: Any, sorted: bool = True) -> Any:
    """The largest elements along the last axis, and where they were."""
    return _topk("TopK", input_x, k, -1, True, sorted)


@op("Tensor:top_k", dtype=UNCHECKED)
def top_k_method(input: Tensor, k: Any, sorted: bool = True) -> Any:
    """The largest elements along the last axis, and where they were."""
    return _topk("TopK", input, k, -1, True, sorted)


TopK = primitive("TopK", top_k, init=("sorted",))


@op("mint", "Tensor", dtype=UNCHECKED)
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along an axis, and where it was."""
    return torch.kthvalue(input, k, dim, keepdim)


@op(dtype=SAME)
def nth_element(input: Tensor, n: Any, reverse: bool = False) -> Tensor:
    """The n-th smallest element along the last axis, counted from 0; with `reverse`, the n-th largest."""
    place = input.shape[-1] - 1 - int(n) if reverse else int(n)
    if not 0 <= place < input.shape[-1]:
        raise ArgumentValueError(
            f"For 'NthElement', 'n' must be in [0, {input.shape[-1]}), but got {int(n)}."
        )
    return torch.kthvalue(input, place + 1).values


NthElement = primitive("NthElement", nth_element, init=("reverse",))


@op("ops", dtype=BOOL, differentiable=False)
def intopk(x1: Tensor, x2: Tensor, k: int) -> Tensor:
    """Per row, whether the element that `x2` names is among the k largest."""
    chosen = torch.gather(x1, 1, x2.long().unsqueeze(1))
    return ((x1 > chosen).sum(1) < k) & chosen.squeeze(1).isfinite()


InTopK = primitive("InTopK", intopk, init=("k",))


# --- each element once ------------------------------------------------------------------------------------------


def unique_in_order(input: Tensor) -> tuple[Tensor, Tensor]:
    """The different elements in the order of their first appearance, and the number of each element among them."""
    found, numbers = torch.unique(input.reshape(-1), return_inverse=True)
    places = torch.arange(numbers.numel(), device=input.device)
    first = torch.full_like(found, numbers.numel(), dtype=torch.int64).scatter_reduce(
        0, numbers, places, "amin"
    )
    order = torch.argsort(first)
    ranks = torch.empty_like(order).scatter_(0, order, torch.arange(order.numel(), device=input.device))
    kind = torch.int64 if input.dtype is torch.int64 else torch.int32
    return found[order], ranks[numbers].reshape(input.shape).to(kind)


@op("ops", dtype=UNCHECKED, differentiable=False)
def unique(input: Tensor) -> Any:
    """The different elements in the order of their first appearance, and the number of each element among them."""
    return unique_in_order(input)


@op(dtype=UNCHECKED, differentiable=False)
def unique_primitive(x: Tensor) -> Any:
    """The different elements in the order of their first appearance, and the number of each element among them."""
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
    """The different elements in order; the number of each element among them and how often each is there, if asked."""
    made = torch.unique(input, sorted, return_inverse, return_counts, dim)
    return tuple(made) if isinstance(made, tuple) else made


@op("ops", "mint", "Tensor", dtype=UNCHECKED, differentiable=False)
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements as one element each; the number of its run for each element and the lengths, if asked."""
    made = torch.unique_consecutive(input, return_inverse, return_counts, dim)
    return tuple(made) if isinstance(made, tuple) else made


@op(dtype=UNCHECKED, differentiable=False)
def unique_consecutive_primitive(
    x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Runs of equal elements as one element each, the number of its run for each element, and the lengths."""
    made, numbers, counts = torch.unique_consecutive(x, True, True, dim)
    none = numbers.new_zeros(0)
    return made, numbers if return_inverse else none, counts if return_counts else none


UniqueConsecutive = primitive("UniqueConsecutive", unique_consecutive_primitive)


@op("ops", dtype=UNCHECKED, differentiable=False)
def unique_with_pad(x: Tensor, pad_num: Any) -> Any:
    """The different elements, filled up to the length of the input, and the number of each element among them."""
    found, numbers = unique_in_order(x)
    made = torch.full_like(x, int(pad_num) if isinstance(pad_num, Tensor) else pad_num)
    made[: found.numel()] = found
    return made, numbers


@op("Tensor:unique_with_pad", dtype=UNCHECKED, differentiable=False)
def unique_with_pad_method(input: Tensor, pad_num: Any) -> Any:
    """The different elements, filled up to the length of the input, and the number of each element among them."""
    return unique_with_pad.raw(input, pad_num)


UniqueWithPad = primitive("UniqueWithPad", unique_with_pad, init=())


@op(dtype=UNCHECKED, differentiable=False)
def upper_bound(sorted_x: Tensor, values: Tensor, out_type: Any = torch.int32) -> Tensor:
    """Per row, where each value would go behind equal ones."""
    return torch.searchsorted(sorted_x, values, right=True).to(out_type)


@op(dtype=UNCHECKED, differentiable=False)
def lower_bound(sorted_x: Tensor, values: Tensor, out_type: Any = torch.int32) -> Tensor:
    """Per row, where each value would go before equal ones."""
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
    """Where values would go in sorted rows."""
    if side not in (None, "left", "right"):
        raise ArgumentValueError(f"For 'searchsorted', 'side' must be 'left' or 'right', but got {side!r}.")
    if right and side == "left":
        raise ArgumentValueError(
            "For 'searchsorted', 'side' says 'left' and 'right' is True: say one of them."
        )
    if not isinstance(values, Tensor):
        values = torch.as_tensor(values, dtype=sorted_sequence.dtype, device=sorted_sequence.device)
    on_right = right or side == "right"
    # what lies apart is brought together here, and PyTorch has nothing to warn of
    sorted_sequence, values = sorted_sequence.contiguous(), values.contiguous()
    return torch.searchsorted(sorted_sequence, values, out_int32=out_int32, right=on_right, sorter=sorter)


@op("Tensor:searchsorted", dtype=UNCHECKED, differentiable=False)
def searchsorted_method(input: Tensor, v: Any, side: str = "left", sorter: Tensor | None = None) -> Tensor:
    """Where values would go in the sorted tensor."""
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
    """Where values would go in sorted rows."""
    return torch.searchsorted(sorted_sequence, values, right=right, sorter=sorter).to(dtype)


SearchSorted = primitive("SearchSorted", search_sorted, init=("dtype", "right"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def bucketize(input: Tensor, boundaries: Any, *, right: bool = False) -> Tensor:
    """The number of the interval between boundaries that each element lies in."""
    limits = torch.as_tensor(boundaries, dtype=torch.float32, device=input.device)
    return torch.bucketize(input.contiguous(), limits, out_int32=True, right=right)


@op(dtype=UNCHECKED, differentiable=False)
def bucketize_left(input: Tensor, boundaries: Any) -> Tensor:
    """The number of the interval between boundaries that each element lies in."""
    return bucketize.raw(input, boundaries, right=True)


Bucketize = primitive("Bucketize", bucketize_left, init=("boundaries",))

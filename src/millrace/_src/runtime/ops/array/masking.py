"""Elements chosen by a mask, by lists of indices, or by their order among limits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import (
    check_integer_indices,
    normalize_axis,
    normalize_indices,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Bucketize",
    "IndexFill",
    "IndexPut",
    "MaskedFill",
    "MaskedScatter",
    "MaskedSelect",
    "SearchSorted",
    "bucketize",
    "bucketize_left",
    "index_fill",
    "index_put",
    "index_put_",
    "index_put_places",
    "masked_fill",
    "masked_fill_",
    "masked_fill_method",
    "masked_scatter",
    "masked_select",
    "search_sorted",
    "searchsorted",
    "searchsorted_method",
]


def _filled(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    if not isinstance(mask, Tensor) or mask.dtype is not torch.bool:
        raise ArgumentTypeError(f"For 'MaskedFill', the mask must be a Tensor of bool, but got {mask!r}.")
    if isinstance(value, Tensor):
        value = value.to(input.dtype)
        if value.ndim:
            raise ArgumentValueError(
                f"For 'MaskedFill', the value must be one number, but got shape {tuple(value.shape)}."
            )
        return torch.where(mask, value, input)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"For 'MaskedFill', the value must be a number or a Tensor, but got {value!r}."
        )
    return torch.masked_fill(input, mask, value)


@op("ops", dtype=SAME)
def masked_fill(input_x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with `value` where the mask holds."""
    return _filled(input_x, mask, value)


@op("Tensor:masked_fill", dtype=SAME)
def masked_fill_method(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """A copy with `value` where the mask holds."""
    return _filled(input, mask, value)


@op("Tensor", dtype=SAME, differentiable=False)
def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` is written where the mask holds, in the tensor itself."""
    with torch.no_grad():
        return input.masked_fill_(mask, value)


MaskedFill = primitive("MaskedFill", masked_fill, init=())


@op("ops", "mint", "Tensor", dtype=SAME)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, in a row."""
    return torch.masked_select(input, mask)


MaskedSelect = primitive("MaskedSelect", masked_select)


@op("Tensor", dtype=SAME)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with elements of `source`, in their order, where the mask holds."""
    return torch.masked_scatter(input, mask, source)


MaskedScatter = primitive("MaskedScatter", masked_scatter)


@op("ops", "Tensor", dtype=SAME)
def index_fill(x: Tensor, axis: Any, index: Tensor, value: Any) -> Tensor:
    """A copy with `value` in the slices of an axis that the indices name."""
    at = normalize_axis("IndexFill", axis, x.ndim)
    places = normalize_indices("IndexFill", index, x.shape[at])
    if isinstance(value, Tensor):
        if value.ndim:
            raise ArgumentValueError(
                f"For 'index_fill', the value must be one number, but got shape {tuple(value.shape)}."
            )
        return torch.index_fill(x, at, places, value.to(x.dtype))
    return torch.index_fill(x, at, places, value)


IndexFill = primitive("IndexFill", index_fill, init=())


def _indices(indices: Any) -> tuple[Tensor, ...]:
    return tuple(
        part if part.dtype is torch.bool else check_integer_indices("index_put", part).long()
        for part in indices
    )


@op("Tensor", dtype=SAME)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written to, or added at, the places that one tensor of indices per axis names."""
    return input.index_put(_indices(indices), values, accumulate)


@op("Tensor", dtype=SAME, differentiable=False)
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Values written to, or added at, places of the tensor itself."""
    with torch.no_grad():
        return input.index_put_(_indices(indices), values, accumulate)


@op(dtype=SAME)
def index_put_places(x1: Tensor, x2: Tensor, indices: Any, accumulate: int = 0) -> Tensor:
    """A copy with values written to, or added at, the places that one tensor of indices per axis names."""
    return x1.index_put(_indices(indices), x2, bool(accumulate))


IndexPut = primitive("IndexPut", index_put_places, init=("accumulate",))


# --- places among limits ----------------------------------------------------------------------------------------


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

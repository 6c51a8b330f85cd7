"""Elements chosen by a mask, by lists of indices, or by their order among limits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.index_arguments import (
    check_integer_indices,
    normalize_axis,
    normalize_indices,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "IndexFill",
    "IndexPut",
    "MaskedFill",
    "MaskedScatter",
    "MaskedSelect",
    "index_fill",
    "index_put",
    "index_put_",
    "index_put_places",
    "masked_fill",
    "masked_fill_",
    "masked_fill_method",
    "masked_scatter",
    "masked_select",
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

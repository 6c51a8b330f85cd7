"""Masks and index writes: masked_fill, masked_select, masked_scatter, index_fill, index_put."""

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
    "index_put_primitive",
    "masked_fill",
    "masked_fill_",
    "masked_fill_method",
    "masked_scatter",
    "masked_select",
]


def _masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
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
    """Copy of the tensor with `value` where `mask` is true."""
    return _masked_fill(input_x, mask, value)


@op("Tensor:masked_fill", dtype=SAME)
def masked_fill_method(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Copy of the tensor with `value` where `mask` is true."""
    return _masked_fill(input, mask, value)


@op("Tensor", dtype=SAME, differentiable=False)
def masked_fill_(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    """Write `value` where `mask` is true, in place."""
    with torch.no_grad():
        return input.masked_fill_(mask, value)


MaskedFill = primitive("MaskedFill", masked_fill, init=())


@op("ops", "mint", "Tensor", dtype=SAME)
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Elements where `mask` is true, as a vector."""
    return torch.masked_select(input, mask)


MaskedSelect = primitive("MaskedSelect", masked_select)


@op("Tensor", dtype=SAME)
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Copy of the tensor with the elements of `source`, in order, where `mask` is true."""
    return torch.masked_scatter(input, mask, source)


MaskedScatter = primitive("MaskedScatter", masked_scatter)


@op("ops", "Tensor", dtype=SAME)
def index_fill(x: Tensor, axis: Any, index: Tensor, value: Any) -> Tensor:
    """Copy of the tensor with `value` in the slices of an axis that `index` names."""
    at = normalize_axis("IndexFill", axis, x.ndim)
    indices = normalize_indices("IndexFill", index, x.shape[at])
    if isinstance(value, Tensor):
        if value.ndim:
            raise ArgumentValueError(
                f"For 'index_fill', the value must be one number, but got shape {tuple(value.shape)}."
            )
        return torch.index_fill(x, at, indices, value.to(x.dtype))
    return torch.index_fill(x, at, indices, value)


IndexFill = primitive("IndexFill", index_fill, init=())


def _parse_indices(indices: Any) -> tuple[Tensor, ...]:
    return tuple(
        part if part.dtype is torch.bool else check_integer_indices("index_put", part).long()
        for part in indices
    )


@op("Tensor", dtype=SAME)
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Copy of the tensor with values written or added at the coordinates given by one index tensor per axis."""
    return input.index_put(_parse_indices(indices), values, accumulate)


@op("Tensor", dtype=SAME, differentiable=False)
def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write or add values at the coordinates given by one index tensor per axis, in place."""
    with torch.no_grad():
        return input.index_put_(_parse_indices(indices), values, accumulate)


@op(dtype=SAME)
def index_put_primitive(x1: Tensor, x2: Tensor, indices: Any, accumulate: int = 0) -> Tensor:
    """Copy of the tensor with values written or added at the coordinates given by one index tensor per axis."""
    return x1.index_put(_parse_indices(indices), x2, bool(accumulate))


IndexPut = primitive("IndexPut", index_put_primitive, init=("accumulate",))

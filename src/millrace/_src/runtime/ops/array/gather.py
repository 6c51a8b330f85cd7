"""Elements taken by their places."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.index_arguments import (
    check_integer_indices,
    normalize_axis,
    normalize_indices,
    split_coordinates,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Gather",
    "GatherD",
    "GatherNd",
    "GatherV2",
    "SparseGatherV2",
    "gather",
    "gather_along_axis",
    "gather_d",
    "gather_elements",
    "gather_method",
    "gather_nd",
    "gather_nd_method",
    "gather_rows",
    "index_select",
    "index_select_mint",
    "index_select_nd",
    "take",
    "take_method",
]


def index_select_nd(name: str, input: Tensor, index: Tensor, axis: Any) -> Tensor:
    """The slices of an axis that the indices name, in their shape."""
    at = normalize_axis(name, axis, input.ndim)
    places = normalize_indices(name, index, input.shape[at])
    if index.ndim == 1:
        return torch.index_select(input, at, places)
    made = torch.index_select(input, at, places.reshape(-1))
    return made.reshape(*input.shape[:at], *index.shape, *input.shape[at + 1 :])


def _batched(name: str, input: Tensor, index: Tensor, axis: Any, batch_dims: int) -> Tensor:
    """The same with leading axes that both have."""
    at, shared = normalize_axis(name, axis, input.ndim), batch_dims % (index.ndim + 1)
    if shared > at or input.shape[:shared] != index.shape[:shared]:
        raise ArgumentValueError(
            f"For '{name}', the first {shared} axes of {tuple(input.shape)} and {tuple(index.shape)} must be equal, "
            f"and 'axis' ({axis}) not among them."
        )
    places = normalize_indices(name, index, input.shape[at])
    rows = input.movedim(at, shared).flatten(0, shared - 1) if shared > 1 else input.movedim(at, shared)
    number = torch.arange(rows.shape[0], device=input.device).unsqueeze(1)
    made = rows[number, places.reshape(rows.shape[0], -1)]
    between, after = input.shape[shared:at], input.shape[at + 1 :]
    made = made.reshape(*index.shape, *between, *after)
    first, count = index.ndim, len(between)
    return (
        made.movedim(tuple(range(first, first + count)), tuple(range(shared, shared + count)))
        if count
        else made
    )


@op("ops", dtype=SAME)
def gather(input_params: Tensor, input_indices: Tensor, axis: Any, batch_dims: int = 0) -> Tensor:
    """The slices of an axis that the indices name."""
    if batch_dims:
        return _batched("Gather", input_params, input_indices, axis, batch_dims)
    return index_select_nd("Gather", input_params, input_indices, axis)


@op(dtype=SAME)
def gather_rows(input_params: Tensor, input_indices: Tensor, axis: Any) -> Tensor:
    """The slices of an axis that the indices name."""
    return index_select_nd("Gather", input_params, input_indices, axis)


Gather = primitive("Gather", gather, init=("batch_dims",))
GatherV2 = primitive("GatherV2", gather_rows, init=())
SparseGatherV2 = primitive("SparseGatherV2", gather_rows, init=())


@op("Tensor:gather", dtype=SAME)
def gather_method(input: Tensor, input_indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    """The slices of an axis that the indices name: (indices, axis); or single elements: (dim, index)."""
    if isinstance(input_indices, int) and isinstance(axis, Tensor):
        return gather_along_axis(input, input_indices, axis)
    return gather.raw(input, input_indices, axis, batch_dims)


def gather_along_axis(input: Tensor, dim: Any, index: Tensor) -> Tensor:
    """One element along an axis per index."""
    at = normalize_axis("GatherD", dim, input.ndim)
    if index.ndim != input.ndim:
        raise ArgumentValueError(
            f"For 'GatherD', the index must have as many axes as the input, but got shapes {tuple(index.shape)} and "
            f"{tuple(input.shape)}."
        )
    return torch.gather(input, at, normalize_indices("GatherD", index, input.shape[at]))


@op("ops", dtype=SAME)
def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """One element along an axis for each index."""
    return gather_along_axis(x, dim, index)


@op("ops", "Tensor", "mint:gather", dtype=SAME)
def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """One element along an axis for each index."""
    return gather_along_axis(input, dim, index)


GatherD = primitive("GatherD", gather_d, init=())


@op("ops", dtype=SAME)
def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """The elements or slices whose coordinates are the last axis of the indices."""
    return input_x[split_coordinates("GatherNd", input_x, indices)]


@op("Tensor:gather_nd", dtype=SAME)
def gather_nd_method(input: Tensor, indices: Tensor) -> Tensor:
    """The elements or slices whose coordinates are the last axis of the indices."""
    return input[split_coordinates("GatherNd", input, indices)]


GatherNd = primitive("GatherNd", gather_nd)


@op("ops", "Tensor", dtype=SAME, also={"dim": "axis"})
def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """The slices of an axis that a vector of indices names."""
    return index_select_nd("index_select", input, index, axis)


@op("mint:index_select", dtype=SAME)
def index_select_mint(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of an axis that a vector of indices names."""
    return index_select_nd("index_select", input, index, dim)


@op("ops", "mint", dtype=SAME)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor by their number."""
    return torch.take(input, check_integer_indices("take", index).long())


@op("Tensor:take", dtype=SAME)
def take_method(input: Tensor, indices: Tensor, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Slices of an axis, or elements of the flattened tensor; indices that are too large are clipped or wrapped."""
    source, at = (input.reshape(-1), 0) if axis is None else (input, axis)
    at = normalize_axis("take", at, source.ndim)
    size = source.shape[at]
    if mode == "wrap":
        places = check_integer_indices("take", indices).long() % size
    elif mode == "clip":
        places = check_integer_indices("take", indices).long().clamp(0, size - 1)
    else:
        places = check_integer_indices("take", indices)
    return index_select_nd("take", source, places, at)

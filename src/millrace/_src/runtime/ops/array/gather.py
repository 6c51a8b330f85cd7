"""Gather elements by index: gather, take, index_select, gather_nd."""

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
    """Gather slices of an axis by indices of any shape."""
    at = normalize_axis(name, axis, input.ndim)
    indices = normalize_indices(name, index, input.shape[at])
    if index.ndim == 1:
        return torch.index_select(input, at, indices)
    rows = torch.index_select(input, at, indices.reshape(-1))
    return rows.reshape(*input.shape[:at], *index.shape, *input.shape[at + 1 :])


def _gather_batched(name: str, input: Tensor, index: Tensor, axis: Any, batch_dims: int) -> Tensor:
    """Gather slices with leading batch axes that input and indices share."""
    at, shared = normalize_axis(name, axis, input.ndim), batch_dims % (index.ndim + 1)
    if shared > at or input.shape[:shared] != index.shape[:shared]:
        raise ArgumentValueError(
            f"For '{name}', the first {shared} axes of {tuple(input.shape)} and {tuple(index.shape)} must be equal, "
            f"and 'axis' ({axis}) not among them."
        )
    indices = normalize_indices(name, index, input.shape[at])
    rows = input.movedim(at, shared).flatten(0, shared - 1) if shared > 1 else input.movedim(at, shared)
    number = torch.arange(rows.shape[0], device=input.device).unsqueeze(1)
    gathered = rows[number, indices.reshape(rows.shape[0], -1)]
    between, after = input.shape[shared:at], input.shape[at + 1 :]
    gathered = gathered.reshape(*index.shape, *between, *after)
    first, count = index.ndim, len(between)
    return (
        gathered.movedim(tuple(range(first, first + count)), tuple(range(shared, shared + count)))
        if count
        else gathered
    )


@op("ops", dtype=SAME)
def gather(input_params: Tensor, input_indices: Tensor, axis: Any, batch_dims: int = 0) -> Tensor:
    """Gather slices of an axis by index."""
    if batch_dims:
        return _gather_batched("Gather", input_params, input_indices, axis, batch_dims)
    return index_select_nd("Gather", input_params, input_indices, axis)


@op(dtype=SAME)
def gather_rows(input_params: Tensor, input_indices: Tensor, axis: Any) -> Tensor:
    """Gather slices of an axis by index."""
    return index_select_nd("Gather", input_params, input_indices, axis)


Gather = primitive("Gather", gather, init=("batch_dims",))
GatherV2 = primitive("GatherV2", gather_rows, init=())
SparseGatherV2 = primitive("SparseGatherV2", gather_rows, init=())


@op("Tensor:gather", dtype=SAME)
def gather_method(input: Tensor, input_indices: Any, axis: Any, batch_dims: int = 0) -> Tensor:
    """Gather slices of an axis: (indices, axis), or single elements: (dim, index)."""
    if isinstance(input_indices, int) and isinstance(axis, Tensor):
        return gather_along_axis(input, input_indices, axis)
    return gather.raw(input, input_indices, axis, batch_dims)


def gather_along_axis(input: Tensor, dim: Any, index: Tensor) -> Tensor:
    """Gather one element along an axis per index."""
    at = normalize_axis("GatherD", dim, input.ndim)
    if index.ndim != input.ndim:
        raise ArgumentValueError(
            f"For 'GatherD', the index must have as many axes as the input, but got shapes {tuple(index.shape)} and "
            f"{tuple(input.shape)}."
        )
    return torch.gather(input, at, normalize_indices("GatherD", index, input.shape[at]))


@op("ops", dtype=SAME)
def gather_d(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Gather one element along an axis per index."""
    return gather_along_axis(x, dim, index)


@op("ops", "Tensor", "mint:gather", dtype=SAME)
def gather_elements(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Gather one element along an axis per index."""
    return gather_along_axis(input, dim, index)


GatherD = primitive("GatherD", gather_d, init=())


@op("ops", dtype=SAME)
def gather_nd(input_x: Tensor, indices: Tensor) -> Tensor:
    """Gather elements or slices by coordinates, which are the last axis of the indices."""
    return input_x[split_coordinates("GatherNd", input_x, indices)]


@op("Tensor:gather_nd", dtype=SAME)
def gather_nd_method(input: Tensor, indices: Tensor) -> Tensor:
    """Gather elements or slices by coordinates, which are the last axis of the indices."""
    return input[split_coordinates("GatherNd", input, indices)]


GatherNd = primitive("GatherNd", gather_nd)


@op("ops", "Tensor", dtype=SAME, also={"dim": "axis"})
def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Select slices of an axis by a vector of indices."""
    return index_select_nd("index_select", input, index, axis)


@op("mint:index_select", dtype=SAME)
def index_select_mint(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Select slices of an axis by a vector of indices."""
    return index_select_nd("index_select", input, index, dim)


@op("ops", "mint", dtype=SAME)
def take(input: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor by index."""
    return torch.take(input, check_integer_indices("take", index).long())


@op("Tensor:take", dtype=SAME)
def take_method(input: Tensor, indices: Tensor, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Slices of an axis, or elements of the flattened tensor, by index. Indices out of range are clipped or wrapped,
    as `mode` sets.
    """
    source, at = (input.reshape(-1), 0) if axis is None else (input, axis)
    at = normalize_axis("take", at, source.ndim)
    size = source.shape[at]
    if mode == "wrap":
        positions = check_integer_indices("take", indices).long() % size
    elif mode == "clip":
        positions = check_integer_indices("take", indices).long().clamp(0, size - 1)
    else:
        positions = check_integer_indices("take", indices)
    return index_select_nd("take", source, positions, at)

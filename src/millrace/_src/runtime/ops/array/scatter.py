"""Scatter updates into a copy or in place: scatter, scatter_nd, tensor_scatter_*, slice_scatter."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.index_arguments import (
    check_integer_indices,
    normalize_axis,
    normalize_indices,
    split_coordinates,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ScatterAddWithAxis",
    "ScatterNd",
    "TensorScatterAdd",
    "TensorScatterDiv",
    "TensorScatterElements",
    "TensorScatterMax",
    "TensorScatterMin",
    "TensorScatterMul",
    "TensorScatterSub",
    "TensorScatterUpdate",
    "diagonal_scatter",
    "scatter_along_axis",
    "scatter_nd_with",
    "put_",
    "scatter",
    "scatter_",
    "scatter_add_",
    "scatter_add_method",
    "scatter_add_mint",
    "scatter_add_with_axis",
    "scatter_method",
    "scatter_mint",
    "scatter_nd",
    "select_scatter",
    "slice_scatter",
    "tensor_scatter_add",
    "tensor_scatter_div",
    "tensor_scatter_elements",
    "tensor_scatter_max",
    "tensor_scatter_min",
    "tensor_scatter_mul",
    "tensor_scatter_sub",
    "tensor_scatter_update",
    "tensor_scatter_update_primitive",
]

_REDUCE = {"mul": "prod", "div": "prod", "max": "amax", "min": "amin"}


def scatter_nd_with(
    name: str, how: str, input: Tensor, indices: Tensor, updates: Tensor, inplace: bool
) -> Tensor:
    """Write (or add, multiply ...) updates at the coordinates in the last axis of the indices."""
    coordinates = split_coordinates(name, input, indices)
    count = len(coordinates)
    wanted = (*indices.shape[:-1], *input.shape[count:])
    if tuple(updates.shape) != wanted:
        raise ArgumentValueError(
            f"For '{name}', the updates for indices of shape {tuple(indices.shape)} and a tensor of shape "
            f"{tuple(input.shape)} must have shape {wanted}, but got {tuple(updates.shape)}."
        )
    if how in ("update", "add", "sub"):
        values = -updates if how == "sub" else updates
        if inplace:
            with torch.no_grad():
                return input.index_put_(coordinates, values, accumulate=how != "update")
        return input.index_put(coordinates, values, accumulate=how != "update")
    rows = math.prod(input.shape[:count])
    numbers = torch.arange(rows, device=input.device).reshape(input.shape[:count])[coordinates].reshape(-1, 1)
    flat, values = input.reshape(rows, -1), updates.reshape(numbers.shape[0], -1)
    numbers = numbers.expand_as(values)
    if how == "div":
        whole_factor = torch.ones_like(flat).scatter_reduce(0, numbers, values, "prod")
        result = (
            flat / whole_factor if flat.is_floating_point() else flat.div(whole_factor, rounding_mode="trunc")
        )
    else:
        result = flat.scatter_reduce(0, numbers, values, _REDUCE[how])
    result = result.reshape(input.shape)
    if inplace:
        with torch.no_grad():
            return input.copy_(result)
    return result


@op("ops", "Tensor:scatter_sub", dtype=SAME)
def tensor_scatter_sub(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor with updates subtracted at the indexed coordinates."""
    return scatter_nd_with("TensorScatterSub", "sub", input_x, indices, updates, False)


@op("ops", dtype=SAME)
def tensor_scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor with updates added at the indexed coordinates."""
    return scatter_nd_with("TensorScatterAdd", "add", input_x, indices, updates, False)


@op("ops", "Tensor:scatter_mul", dtype=SAME)
def tensor_scatter_mul(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor multiplied by updates at the indexed coordinates."""
    return scatter_nd_with("TensorScatterMul", "mul", input_x, indices, updates, False)


@op("ops", "Tensor:scatter_div", dtype=SAME)
def tensor_scatter_div(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor divided by updates at the indexed coordinates."""
    return scatter_nd_with("TensorScatterDiv", "div", input_x, indices, updates, False)


@op("ops", "Tensor:scatter_max", dtype=SAME)
def tensor_scatter_max(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor with the maximum of element and update at the indexed coordinates."""
    return scatter_nd_with("TensorScatterMax", "max", input_x, indices, updates, False)


@op("ops", "Tensor:scatter_min", dtype=SAME)
def tensor_scatter_min(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor with the minimum of element and update at the indexed coordinates."""
    return scatter_nd_with("TensorScatterMin", "min", input_x, indices, updates, False)


@op(dtype=SAME)
def tensor_scatter_update_primitive(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Copy of the tensor with updates written at the indexed coordinates."""
    return scatter_nd_with("TensorScatterUpdate", "update", input_x, indices, updates, False)


TensorScatterAdd = primitive("TensorScatterAdd", tensor_scatter_add)
TensorScatterSub = primitive("TensorScatterSub", tensor_scatter_sub)
TensorScatterMul = primitive("TensorScatterMul", tensor_scatter_mul)
TensorScatterDiv = primitive("TensorScatterDiv", tensor_scatter_div)
TensorScatterMax = primitive("TensorScatterMax", tensor_scatter_max)
TensorScatterMin = primitive("TensorScatterMin", tensor_scatter_min)
TensorScatterUpdate = primitive("TensorScatterUpdate", tensor_scatter_update_primitive)
tensor_scatter_update = TensorScatterUpdate()


@op("ops", dtype=UNCHECKED)
def scatter_nd(indices: Tensor, updates: Tensor, shape: Any) -> Tensor:
    """Tensor of zeros with updates added at the indexed coordinates."""
    target = updates.new_zeros(tuple(to_python_list(shape)) if isinstance(shape, Tensor) else tuple(shape))
    return scatter_nd_with("ScatterNd", "add", target, indices, updates, False)


ScatterNd = primitive("ScatterNd", scatter_nd, init=())


# --- elements along an axis -------------------------------------------------------------------------------------


def scatter_along_axis(name: str, input: Tensor, dim: Any, index: Tensor, src: Any, add: bool) -> Tensor:
    """Copy with `src` written or added along an axis."""
    at = normalize_axis(name, dim, input.ndim)
    indices = normalize_indices(name, index, input.shape[at])
    if not isinstance(src, Tensor):
        return (
            torch.scatter_add(input, at, indices, input.new_full(indices.shape, src))
            if add
            else torch.scatter(input, at, indices, src)
        )
    values = src.to(input.dtype)
    return torch.scatter_add(input, at, indices, values) if add else torch.scatter(input, at, indices, values)


@op("ops", dtype=SAME)
def tensor_scatter_elements(
    input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    """Copy of the tensor with one element along an axis per index written or added."""
    if reduction not in ("none", "add"):
        raise ArgumentValueError(
            f"For 'TensorScatterElements', 'reduction' must be 'none' or 'add', but got {reduction!r}."
        )
    return scatter_along_axis("TensorScatterElements", input_x, axis, indices, updates, reduction == "add")


TensorScatterElements = primitive(
    "TensorScatterElements", tensor_scatter_elements, init=("axis", "reduction")
)


@op("ops", dtype=SAME)
def scatter(input: Tensor, axis: int, index: Tensor, src: Tensor) -> Tensor:
    """Copy of the tensor with one element along an axis per index written."""
    return scatter_along_axis("scatter", input, axis, index, src, False)


@op("mint:scatter", dtype=SAME)
def scatter_mint(input: Tensor, dim: int, index: Tensor, src: Tensor | float) -> Tensor:
    """Copy of the tensor with one element along an axis per index written."""
    return scatter_along_axis("scatter", input, dim, index, src, False)


@op("Tensor:scatter", dtype=SAME, also={"axis": "dim", "value": "src"})
def scatter_method(
    input: Tensor, dim: int, index: Tensor, src: Tensor | float, *, reduce: str = ""
) -> Tensor:
    """Copy of the tensor with one element along an axis per index written; with reduce="add", added."""
    return scatter_along_axis("scatter", input, dim, index, src, reduce == "add")


@op("Tensor", dtype=SAME, differentiable=False, also={"value": "src"})
def scatter_(input: Tensor, dim: int, index: Tensor, src: Tensor | float, *, reduce: str = "") -> Tensor:
    """Write one element along an axis per index in place; with `reduce`, add or multiply."""
    at = normalize_axis("scatter_", dim, input.ndim)
    indices = normalize_indices("scatter_", index, input.shape[at])
    with torch.no_grad():
        return input.scatter_(at, indices, src, reduce=reduce) if reduce else input.scatter_(at, indices, src)


@op("mint:scatter_add", dtype=SAME)
def scatter_add_mint(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Copy of the tensor with one element along an axis per index added."""
    return scatter_along_axis("scatter_add", input, dim, index, src, True)


@op("Tensor:scatter_add", dtype=SAME, also={"indices": "dim", "updates": "index"})
def scatter_add_method(input: Tensor, dim: Any, index: Tensor, src: Tensor | None = None) -> Tensor:
    """Copy of the tensor with updates added: (dim, index, src) along an axis, (indices, updates) by coordinates."""
    if src is None:
        return scatter_nd_with("scatter_add", "add", input, dim, index, False)
    return scatter_along_axis("scatter_add", input, dim, index, src, True)


@op("Tensor", dtype=SAME, differentiable=False)
def scatter_add_(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add one element along an axis per index in place."""
    at = normalize_axis("scatter_add_", dim, input.ndim)
    with torch.no_grad():
        return input.scatter_add_(at, normalize_indices("scatter_add_", index, input.shape[at]), src)


# --- slices -------------------------------------------------------------------------------------------------------


@op("ops", "Tensor", dtype=SAME)
def select_scatter(input: Tensor, src: Tensor, axis: int, index: int) -> Tensor:
    """Copy of the tensor with one slice of an axis replaced."""
    at = normalize_axis("select_scatter", axis, input.ndim)
    slot = list(input.shape)
    del slot[at]
    return torch.select_scatter(input, src.expand(slot), at, index)


@op("ops", "Tensor", dtype=SAME)
def slice_scatter(
    input: Tensor, src: Tensor, axis: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """Copy of the tensor with a range of an axis replaced."""
    return torch.slice_scatter(input, src, axis, start, end, step)


@op("ops", "Tensor", dtype=SAME)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Copy of the tensor with a diagonal replaced."""
    return torch.diagonal_scatter(input, src, offset, dim1, dim2)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def put_(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Write or add elements of the flattened tensor in place."""
    with torch.no_grad():
        return input.put_(check_integer_indices("put_", index).long(), source, accumulate)


@op(dtype=SAME)
def scatter_add_with_axis(input_x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0) -> Tensor:
    """Copy of the tensor with one element along an axis per index added."""
    return scatter_along_axis("ScatterAddWithAxis", input_x, axis, indices, updates, True)


ScatterAddWithAxis = primitive("ScatterAddWithAxis", scatter_add_with_axis)
export_names(__name__, "ops", "tensor_scatter_update")

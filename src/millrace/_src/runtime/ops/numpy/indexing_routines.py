"""NumPy indexing routines: where, take, choose, select, unravel_index."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .type_promotion import promote_arrays, to_array

__all__ = [
    "argwhere",
    "choose",
    "ravel_multi_index",
    "select",
    "take",
    "take_along_axis",
    "unravel_index",
    "where",
]


@op("numpy", dtype=UNCHECKED)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """`x` where the condition is true, else `y`; without both, the coordinates where it is true."""
    chosen = to_array(condition)
    if x is None and y is None:
        return torch.nonzero(chosen, as_tuple=True)
    if x is None or y is None:
        raise ArgumentValueError("For 'where', give both 'x' and 'y', or neither.")
    return torch.where(chosen.bool(), *promote_arrays(x, y))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argwhere(a: Any) -> Tensor:
    """Coordinates of the nonzero elements, one row each."""
    return torch.nonzero(to_array(a))


def _wrap_positions(positions: Tensor, length: int, mode: str) -> Tensor:
    """Positions within an axis: clipped or wrapped; negative ones count from the end."""
    if mode == "wrap":
        return torch.remainder(positions, length)
    if mode not in ("clip", "raise"):
        raise ArgumentValueError(f"the 'mode' must be 'raise', 'wrap' or 'clip', but got {mode!r}.")
    positions = torch.where(positions < 0, positions + length, positions)
    return positions.clamp(0, length - 1) if mode == "clip" else positions


@op("numpy", dtype=UNCHECKED)
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """Elements by index along an axis, or of the flattened tensor; indices out of range are clipped or wrapped."""
    tensor = to_array(a)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    if not -tensor.ndim <= to_int(axis, "axis") < tensor.ndim:
        raise ArgumentValueError(f"axis {axis} is out of bounds for a tensor of {tensor.ndim} axes.")
    positions = _wrap_positions(to_array(indices).to(torch.int64), tensor.shape[axis], mode)
    axis %= tensor.ndim
    shape = (*tensor.shape[:axis], *positions.shape, *tensor.shape[axis + 1 :])
    return torch.index_select(tensor, axis, positions.reshape(-1)).reshape(shape)


@op("numpy", dtype=UNCHECKED)
def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Tensor:
    """Elements by index along an axis, with separate indices for each line."""
    tensor, positions = to_array(arr), to_array(indices).to(torch.int64)
    if axis is None:
        tensor, axis = tensor.reshape(-1), 0
    positions = torch.where(positions < 0, positions + tensor.shape[axis], positions)
    return torch.take_along_dim(tensor, positions, axis)


@op("numpy", dtype=UNCHECKED)
def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """For each element, the element of the choice with that index."""
    parts = torch.broadcast_tensors(*(to_array(each) for each in choices))
    table = torch.stack(list(parts))
    selection = _wrap_positions(to_array(a).to(torch.int64), table.shape[0], mode)
    selection, _ = torch.broadcast_tensors(selection, table[0])
    return torch.gather(table, 0, selection.unsqueeze(0)).squeeze(0)


@op("numpy", dtype=UNCHECKED)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """For each element, the first choice whose condition is true, else `default`."""
    conditions, choices = list(condlist), [to_array(each) for each in choicelist]
    if len(conditions) != len(choices) or not choices:
        raise ArgumentValueError(f"there are {len(conditions)} conditions, but {len(choices)} choices.")
    selected = to_array(default).to(choices[0].dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        selected = torch.where(to_array(condition).bool(), choice, selected)
    return selected


@op("numpy", dtype=UNCHECKED, differentiable=False)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Coordinates of flat indices; indices out of range are clipped."""
    if order not in ("C", "F"):
        raise ArgumentValueError(f"For 'unravel_index', the 'order' must be 'C' or 'F', but got {order!r}.")
    lengths = to_shape(shape)
    flat = _wrap_positions(to_array(indices), math.prod(lengths), "clip")
    coordinates = []
    for length in reversed(lengths) if order == "C" else lengths:
        coordinates.append(torch.remainder(flat, length))
        flat = torch.div(flat, length, rounding_mode="floor")
    return tuple(reversed(coordinates)) if order == "C" else tuple(coordinates)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """Flat indices of coordinates; coordinates out of range are clipped or wrapped."""
    if order not in ("C", "F") or mode not in ("clip", "wrap"):
        raise ArgumentValueError(
            f"the 'mode' must be 'clip' or 'wrap', the 'order' 'C' or 'F': {mode!r}, {order!r}."
        )
    lengths = to_shape(dims)
    parts = [to_array(each) for each in multi_index]
    if len(parts) != len(lengths):
        raise ArgumentValueError(f"got {len(parts)} coordinates, but {len(lengths)} axes.")
    flat, step = torch.zeros_like(parts[0]), 1
    pairs = list(zip(parts, lengths))
    for positions, length in reversed(pairs) if order == "C" else pairs:
        inside = torch.remainder(positions, length) if mode == "wrap" else positions.clamp(0, length - 1)
        flat, step = flat + inside * step, step * length
    return flat

"""Elements chosen and looked up, sets, margins and random numbers, with NumPy's names."""

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
    """`x` where the condition holds, else `y`; with neither, the places where it holds."""
    chosen = to_array(condition)
    if x is None and y is None:
        return torch.nonzero(chosen, as_tuple=True)
    if x is None or y is None:
        raise ArgumentValueError("For 'where', give both 'x' and 'y', or neither.")
    return torch.where(chosen.bool(), *promote_arrays(x, y))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def argwhere(a: Any) -> Tensor:
    """The places of the elements that are not zero, a row each."""
    return torch.nonzero(to_array(a))


def _inside(places: Tensor, length: int, mode: str) -> Tensor:
    """Places within an axis: clipped, or counted round; negative ones count from the end."""
    if mode == "wrap":
        return torch.remainder(places, length)
    if mode not in ("clip", "raise"):
        raise ArgumentValueError(f"the 'mode' must be 'raise', 'wrap' or 'clip', but got {mode!r}.")
    places = torch.where(places < 0, places + length, places)
    return places.clamp(0, length - 1) if mode == "clip" else places


@op("numpy", dtype=UNCHECKED)
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """The elements at places along an axis, or of all; places outside are clipped, or wrap round."""
    made = to_array(a)
    if axis is None:
        made, axis = made.reshape(-1), 0
    if not -made.ndim <= to_int(axis, "axis") < made.ndim:
        raise ArgumentValueError(f"axis {axis} is out of bounds for a tensor of {made.ndim} axes.")
    places = _inside(to_array(indices).to(torch.int64), made.shape[axis], mode)
    axis %= made.ndim
    shape = (*made.shape[:axis], *places.shape, *made.shape[axis + 1 :])
    return torch.index_select(made, axis, places.reshape(-1)).reshape(shape)


@op("numpy", dtype=UNCHECKED)
def take_along_axis(arr: Any, indices: Any, axis: int | None) -> Tensor:
    """The elements at places along an axis, which differ for each line of it."""
    made, places = to_array(arr), to_array(indices).to(torch.int64)
    if axis is None:
        made, axis = made.reshape(-1), 0
    places = torch.where(places < 0, places + made.shape[axis], places)
    return torch.take_along_dim(made, places, axis)


@op("numpy", dtype=UNCHECKED)
def choose(a: Any, choices: Any, mode: str = "clip") -> Tensor:
    """For each element, that of the choice whose number it is."""
    parts = torch.broadcast_tensors(*(to_array(each) for each in choices))
    table = torch.stack(list(parts))
    places = _inside(to_array(a).to(torch.int64), table.shape[0], mode)
    places, _ = torch.broadcast_tensors(places, table[0])
    return torch.gather(table, 0, places.unsqueeze(0)).squeeze(0)


@op("numpy", dtype=UNCHECKED)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Tensor:
    """The element of the first choice whose condition holds, else `default`."""
    conditions, choices = list(condlist), [to_array(each) for each in choicelist]
    if len(conditions) != len(choices) or not choices:
        raise ArgumentValueError(f"there are {len(conditions)} conditions, but {len(choices)} choices.")
    made = to_array(default).to(choices[0].dtype)
    for condition, choice in zip(reversed(conditions), reversed(choices)):
        made = torch.where(to_array(condition).bool(), choice, made)
    return made


@op("numpy", dtype=UNCHECKED, differentiable=False)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """For places in flat order, their place along each axis; places outside are clipped."""
    if order not in ("C", "F"):
        raise ArgumentValueError(f"For 'unravel_index', the 'order' must be 'C' or 'F', but got {order!r}.")
    lengths = to_shape(shape)
    places = _inside(to_array(indices), math.prod(lengths), "clip")
    found = []
    for length in reversed(lengths) if order == "C" else lengths:
        found.append(torch.remainder(places, length))
        places = torch.div(places, length, rounding_mode="floor")
    return tuple(reversed(found)) if order == "C" else tuple(found)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def ravel_multi_index(multi_index: Any, dims: Any, mode: str = "clip", order: str = "C") -> Tensor:
    """For places along each axis, their place in flat order; places outside are clipped, or wrap round."""
    if order not in ("C", "F") or mode not in ("clip", "wrap"):
        raise ArgumentValueError(
            f"the 'mode' must be 'clip' or 'wrap', the 'order' 'C' or 'F': {mode!r}, {order!r}."
        )
    lengths = to_shape(dims)
    parts = [to_array(each) for each in multi_index]
    if len(parts) != len(lengths):
        raise ArgumentValueError(f"there are {len(parts)} places, but {len(lengths)} axes.")
    made, step = torch.zeros_like(parts[0]), 1
    pairs = list(zip(parts, lengths))
    for places, length in reversed(pairs) if order == "C" else pairs:
        inside = torch.remainder(places, length) if mode == "wrap" else places.clamp(0, length - 1)
        made, step = made + inside * step, step * length
    return made

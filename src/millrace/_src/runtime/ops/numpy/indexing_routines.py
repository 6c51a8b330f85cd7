"""Elements chosen and looked up, sets, margins and random numbers, with NumPy's names."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_python_list, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import to_torch_dtype

from .type_promotion import promote_arrays, to_array

__all__ = [
    "argwhere",
    "array_equal",
    "array_equiv",
    "array_str",
    "choose",
    "digitize",
    "in1d",
    "intersect1d",
    "isin",
    "isscalar",
    "pad",
    "rand",
    "randint",
    "randn",
    "ravel_multi_index",
    "searchsorted",
    "select",
    "setdiff1d",
    "take",
    "take_along_axis",
    "unique",
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
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where values belong in a sorted vector."""
    if side not in ("left", "right"):
        raise ArgumentValueError(
            f"For 'searchsorted', the 'side' must be 'left' or 'right', but got {side!r}."
        )
    line, values = (
        each.to(torch.promote_types(to_array(a).dtype, to_array(v).dtype)) for each in map(to_array, (a, v))
    )
    order = None if sorter is None else to_array(sorter).to(torch.int64)
    values = values.to(line.device).contiguous()  # a number is made on the host
    return torch.searchsorted(line.contiguous(), values, side=side, sorter=order).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """The number of the bin that each value falls into; bins may fall as well as rise."""
    values, edges = to_array(x), to_array(bins)
    kind = torch.promote_types(values.dtype, edges.dtype)
    values, edges = values.to(kind), edges.to(kind)
    side = "left" if right else "right"
    rising = torch.searchsorted(edges.contiguous(), values.contiguous(), side=side)
    other = "right" if right else "left"
    falling = edges.numel() - torch.searchsorted(edges.flip(0).contiguous(), values.contiguous(), side=other)
    return torch.where(edges[-1] >= edges[0], rising, falling).to(torch.int32)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def unique(x: Any, return_inverse: bool = False) -> Any:
    """The different elements in the order of their first place; with `return_inverse` also where each went."""
    flat = to_array(x).reshape(-1)
    values, inverse = torch.unique(flat, return_inverse=True)
    first = torch.full((values.numel(),), flat.numel(), dtype=torch.int64, device=flat.device)
    first = first.scatter_reduce(0, inverse, torch.arange(flat.numel(), device=flat.device), "amin")
    order = torch.argsort(first)
    return (
        (values[order], torch.argsort(order)[inverse].reshape(flat.shape))
        if return_inverse
        else values[order]
    )


def _member(element: Any, others: Any, invert: bool) -> Tensor:
    left, right = to_array(element), to_array(others)
    kind = torch.promote_types(left.dtype, right.dtype)
    return torch.isin(left.to(kind), right.to(left.device, kind), invert=invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def isin(element: Any, test_elements: Any, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    return _member(element, test_elements, invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def in1d(ar1: Any, ar2: Any, invert: bool = False) -> Tensor:
    """Whether each element is among others, along one axis."""
    return _member(to_array(ar1).reshape(-1), ar2, invert)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Tensor:
    """The different elements of the first that are not in the second, sorted."""
    flat = to_array(ar1).reshape(-1)
    flat = flat if assume_unique else torch.unique(flat)
    return flat[_member(flat, ar2, True)]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The elements that both have, sorted; and where they are first with `return_indices`."""
    left, right = to_array(ar1).reshape(-1), to_array(ar2).reshape(-1)
    common = torch.unique(left)
    common = common[_member(common, right, False)]
    if not return_indices:
        return common
    places = [
        torch.argmax((side == common.unsqueeze(-1)).to(torch.int8), -1).to(torch.int32)
        for side in (left, right)
    ]
    return (common, *places)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Tensor:
    """Whether two values have one shape and the same elements, as a 0-d tensor."""
    left, right = to_array(a1), to_array(a2)
    if left.shape != right.shape:
        return torch.tensor(False)
    same = left == right
    if equal_nan and left.is_floating_point() and right.is_floating_point():
        same = same | (torch.isnan(left) & torch.isnan(right))
    return torch.all(same)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_equiv(a1: Any, a2: Any) -> Tensor:
    """Whether two values broadcast to the same elements, as a 0-d tensor."""
    left, right = to_array(a1), to_array(a2)
    try:
        torch.broadcast_shapes(left.shape, right.shape)
    except RuntimeError:
        return torch.tensor(False)
    return torch.all(left == right)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def isscalar(element: Any) -> bool:
    """Whether a value is a number or text of Python."""
    return isinstance(element, (bool, int, float, complex, str))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def array_str(a: Tensor) -> str:
    """The elements as text."""
    to_python_list(a.detach())  # its values leave for Python
    return str(a.detach().cpu().numpy())


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


def _shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    found = to_shape(shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)
    return found or (1,)


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def randn(*shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Numbers drawn from the standard normal distribution."""
    return torch.randn(_shape(shape)).to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def rand(*shape: Any, dtype: Any = torch.float32) -> Tensor:
    """Numbers drawn evenly from 0 to 1."""
    return torch.rand(_shape(shape)).to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False, random=True)
def randint(minval: int, maxval: int | None = None, shape: Any = None, dtype: Any = torch.int32) -> Tensor:
    """Whole numbers drawn evenly from `minval` to before `maxval`; with one number, from 0 to before that."""
    low, high = (0, minval) if maxval is None else (minval, maxval)
    if to_int(low, "minval") >= to_int(high, "maxval"):
        raise ArgumentValueError(f"For 'randint', minval must be below maxval, but got {low} and {high}.")
    return torch.randint(low, high, (1,) if shape is None else to_shape(shape)).to(to_torch_dtype(dtype))


def _widths(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """A pair for each axis, of a number, a pair, or pairs."""
    if isinstance(value, Tensor):
        value = to_python_list(value)
    if isinstance(value, (int, float)):
        return [(value, value)] * ndim
    parts = list(value)
    if all(isinstance(part, (int, float)) for part in parts):
        pair = parts * 2 if len(parts) == 1 else parts
        return [(pair[0], pair[1])] * ndim
    pairs = [(part[0], part[-1]) for part in parts]
    if len(pairs) not in (1, ndim):
        raise ArgumentValueError(
            f"For 'pad', there must be a pair for each of the {ndim} axes, but got {value}."
        )
    return pairs * ndim if len(pairs) == 1 else pairs


def _folded(places: Tensor, length: int, mode: str) -> Tensor:
    """Places outside of an axis led back into it."""
    if mode == "edge" or length == 1:
        return places.clamp(0, length - 1)
    if mode == "wrap":
        return torch.remainder(places, length)
    around = 2 * length - (2 if mode == "reflect" else 0)
    places = torch.remainder(places, around)
    return torch.where(places >= length, around - places - (0 if mode == "reflect" else 1), places)


_STATISTICS: dict[str, Any] = {"maximum": torch.amax, "minimum": torch.amin, "mean": torch.mean}


def _beside(made: Tensor, axis: int, width: tuple[int, int], mode: str, stat: Any, value: Any) -> Tensor:
    """A margin of one value on each side of an axis, or of a ramp."""
    length = made.shape[axis]
    sides = []
    for side in (0, 1):
        edge = made.narrow(axis, 0 if side == 0 else length - 1, 1)
        if mode in _STATISTICS:
            count = length if stat is None else min(int(stat[side]), length)
            part = made.narrow(axis, 0 if side == 0 else length - count, count)
            fill = _STATISTICS[mode](part, axis, True).to(made.dtype)
        else:
            fill = torch.full_like(edge, value[side])
        shape = [width[side] if place == axis else each for place, each in enumerate(edge.shape)]
        if mode == "linear_ramp":
            steps = torch.arange(width[side], dtype=made.dtype, device=made.device) / max(width[side], 1)
            steps = (
                steps if side == 0 else 1 - steps - (1 / max(width[side], 1) if width[side] else 0)
            ).reshape([-1 if place == axis else 1 for place in range(made.ndim)])
            sides.append(fill + (edge - fill) * steps)
        else:
            sides.append(fill.expand(shape))
    return torch.cat((sides[0], made, sides[1]), axis)


@op("numpy", dtype=UNCHECKED)
def pad(
    arr: Any,
    pad_width: Any,
    mode: str = "constant",
    stat_length: Any = None,
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: str = "even",
    **kwargs: Any,
) -> Tensor:
    """A margin of `pad_width` elements on each side: "constant", "edge", "reflect", "symmetric", "wrap", "maximum",
    "minimum", "mean", "linear_ramp" or "empty"."""
    made = to_array(arr)
    if not isinstance(mode, str):
        raise ArgumentTypeError(f"For 'pad', the mode must be a name, but got {mode!r}.")
    widths = _widths(pad_width, made.ndim)
    values = _widths(end_values if mode == "linear_ramp" else constant_values, made.ndim)
    stats = None if stat_length is None else _widths(stat_length, made.ndim)
    if mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap", "linear_ramp", *_STATISTICS):
        raise ArgumentValueError(f"For 'pad', the mode {mode!r} is not supported.")
    if any(int(each) != each or each < 0 for pair in widths for each in pair):
        raise ArgumentValueError(f"For 'pad', the widths must be ints >= 0, but got {pad_width}.")
    for axis, (before, after) in enumerate(widths):
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            length = made.shape[axis]
            places = torch.arange(-before, length + after, device=made.device)
            inside = torch.index_select(made, axis, _folded(places, length, mode))
            if reflect_type == "odd" and mode in ("reflect", "symmetric"):
                shape = [-1 if place == axis else 1 for place in range(made.ndim)]
                low, high = made.narrow(axis, 0, 1), made.narrow(axis, length - 1, 1)
                inside = torch.where((places < 0).reshape(shape), 2 * low - inside, inside)
                inside = torch.where((places >= length).reshape(shape), 2 * high - inside, inside)
            made = inside
        else:
            made = _beside(made, axis, (before, after), mode, stats and stats[axis], values[axis])
    return made

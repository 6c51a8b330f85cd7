"""Shapes, joins, cuts and margins with NumPy's names."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_python_list, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

from .type_promotion import to_array

__all__ = [
    "append",
    "array_split",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "column_stack",
    "concatenate",
    "dsplit",
    "dstack",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "moveaxis",
    "pad",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "rollaxis",
    "rot90",
    "size",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "vsplit",
    "vstack",
]


@op("numpy", dtype=UNCHECKED)
def reshape(x: Any, new_shape: Any) -> Tensor:
    """The same elements in another shape; one length may be -1."""
    return torch.reshape(to_array(x), to_shape(new_shape))


@op("numpy", dtype=UNCHECKED)
def ravel(x: Any) -> Tensor:
    """All elements along one axis."""
    return to_array(x).reshape(-1)


@op("numpy", dtype=UNCHECKED)
def transpose(a: Any, axes: Any = None) -> Tensor:
    """The axes in another order, or reversed."""
    made = to_array(a)
    return torch.permute(made, tuple(range(made.ndim - 1, -1, -1)) if axes is None else to_shape(axes))


@op("numpy", dtype=UNCHECKED)
def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    return torch.transpose(to_array(x), to_int(axis1, "axis1"), to_int(axis2, "axis2"))


@op("numpy", dtype=UNCHECKED)
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Some axes moved to other places; the rest keep their order."""
    return torch.movedim(to_array(a), to_shape(source), to_shape(destination))


@op("numpy", dtype=UNCHECKED)
def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """An axis moved back to before `start`."""
    made = to_array(x)
    if (
        not -made.ndim <= to_int(axis, "axis") < made.ndim
        or not -made.ndim <= to_int(start, "start") <= made.ndim
    ):
        raise ArgumentValueError(f"axis {axis} or start {start} is out of bounds for {made.ndim} axes.")
    axis, start = axis % made.ndim, start + made.ndim if start < 0 else start
    return torch.movedim(made, axis, start - 1 if start > axis else start)


@op("numpy", dtype=UNCHECKED)
def expand_dims(a: Any, axis: Any) -> Tensor:
    """New axes of length 1 at places of the result."""
    made = to_array(a)
    places = to_shape(axis)
    ndim = made.ndim + len(places)
    if any(not -ndim <= place < ndim for place in places):
        raise ArgumentValueError(f"For 'expand_dims', the axis must be in [{-ndim},{ndim}), but got {axis}.")
    for place in sorted(place % ndim for place in places):
        made = made.unsqueeze(place)
    return made


@op("numpy", dtype=UNCHECKED)
def squeeze(a: Any, axis: Any = None) -> Tensor:
    """The tensor without the axes of length 1, or without those of them that are named."""
    return torch.squeeze(to_array(a)) if axis is None else torch.squeeze(to_array(a), to_shape(axis))


@op("numpy", dtype=UNCHECKED)
def broadcast_to(array: Any, shape: Any) -> Tensor:
    """The tensor in a larger shape; axes of length 1 and new ones repeat their elements."""
    return torch.broadcast_to(to_array(array), to_shape(shape))


@op("numpy", dtype=UNCHECKED)
def broadcast_arrays(*args: Any) -> Any:
    """The tensors in the shape that they have in common."""
    return list(torch.broadcast_tensors(*(to_array(each) for each in args)))


def _at_least(arys: tuple[Any, ...], make: Any) -> Any:
    made = [make(to_array(each)) for each in arys]
    return made[0] if len(made) == 1 else made


@op("numpy", dtype=UNCHECKED)
def atleast_1d(*arys: Any) -> Any:
    """The values with one axis at least."""
    return _at_least(arys, torch.atleast_1d)


@op("numpy", dtype=UNCHECKED)
def atleast_2d(*arys: Any) -> Any:
    """The values with two axes at least."""
    return _at_least(arys, torch.atleast_2d)


@op("numpy", dtype=UNCHECKED)
def atleast_3d(*arys: Any) -> Any:
    """The values with three axes at least."""
    return _at_least(arys, torch.atleast_3d)


def _parts(values: Any) -> list[Tensor]:
    """Tensors to put together, in their common type."""
    if isinstance(values, Tensor):
        values = tuple(values)
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(f"the tensors must come in a list or tuple, but got {values!r}.")
    if not values:
        raise ArgumentValueError("Need at least one tensor to concatenate.")
    parts = [to_array(each) for each in values]
    kind = parts[0].dtype
    for part in parts[1:]:
        kind = torch.promote_types(kind, part.dtype)
    return [part.to(kind) for part in parts]


@op("numpy", dtype=UNCHECKED)
def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """Tensors one after the other along an axis, or flat where it is None."""
    parts = _parts(arrays)
    return (
        torch.cat([part.reshape(-1) for part in parts])
        if axis is None
        else torch.cat(parts, to_int(axis, "axis"))
    )


@op("numpy", dtype=UNCHECKED)
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Values after those of a tensor along an axis, or flat where it is None."""
    return concatenate.raw((to_array(arr), to_array(values)), axis)


@op("numpy", dtype=UNCHECKED)
def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Tensors side by side along a new axis."""
    return torch.stack(_parts(arrays), to_int(axis, "axis"))


@op("numpy", dtype=UNCHECKED)
def vstack(tup: Any) -> Tensor:
    """Tensors one below the other; a vector is a row."""
    return torch.vstack(_parts(tup))


@op("numpy", dtype=UNCHECKED)
def hstack(tup: Any) -> Tensor:
    """Tensors one after the other along the second axis, vectors along their only one."""
    return torch.hstack(_parts(tup))


@op("numpy", dtype=UNCHECKED)
def dstack(tup: Any) -> Tensor:
    """Tensors one behind the other along the third axis."""
    return torch.dstack(_parts(tup))


@op("numpy", dtype=UNCHECKED)
def column_stack(tup: Any) -> Tensor:
    """Tensors one beside the other; a vector is a column."""
    return torch.column_stack(_parts(tup))


def _cut(x: Any, where: Any, axis: int, even: bool, least: int = 1) -> Any:
    made = to_array(x)
    if made.ndim < least:
        raise ArgumentValueError(
            f"the tensor must have at least {least} axes to be split, but got {made.ndim}."
        )
    if isinstance(where, int) and not isinstance(where, bool):
        length = made.shape[axis] if -made.ndim <= axis < made.ndim else 0
        if where <= 0 or (even and length % where):
            raise ArgumentValueError(
                f"the length, {length}, must be divisible by the number of parts, {where}."
            )
        return torch.tensor_split(made, where, axis)
    if not isinstance(where, (list, tuple)):
        raise ArgumentTypeError(
            f"'indices_or_sections' must be an int, or a list or tuple of ints, but got {where!r}."
        )
    return list(torch.tensor_split(made, to_shape(where), axis))


@op("numpy", dtype=UNCHECKED)
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Equal parts along an axis, or parts that begin at the given places."""
    return _cut(x, indices_or_sections, axis, even=True)


@op("numpy", dtype=UNCHECKED)
def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Parts along an axis, as equal as can be, or that begin at the given places."""
    return _cut(x, indices_or_sections, axis, even=False)


@op("numpy", dtype=UNCHECKED)
def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the first axis."""
    return _cut(x, indices_or_sections, 0, even=True)


@op("numpy", dtype=UNCHECKED)
def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the second axis."""
    return _cut(x, indices_or_sections, 1, even=True, least=2)


@op("numpy", dtype=UNCHECKED)
def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """Parts along the third axis."""
    return _cut(x, indices_or_sections, 2, even=True, least=3)


@op("numpy", dtype=UNCHECKED)
def tile(a: Any, reps: Any) -> Tensor:
    """The tensor repeated as a whole, so many times along each axis."""
    return torch.tile(to_array(a), to_shape(reps))


@op("numpy", dtype=UNCHECKED)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Each element along an axis, or of all, so many times; `repeats` may have a number for each."""
    made = to_array(a)
    times = to_shape(repeats)
    if any(each < 0 for each in times):
        raise ArgumentValueError(f"For 'repeat', no number may be negative, but got {times}.")
    if len(times) == 1:
        return torch.repeat_interleave(made, times[0], axis)
    return torch.repeat_interleave(made, torch.tensor(times, device=made.device), axis)


@op("numpy", dtype=UNCHECKED)
def flip(m: Any, axis: Any = None) -> Tensor:
    """The elements in reversed order along axes, or all of them."""
    made = to_array(m)
    return torch.flip(made, tuple(range(made.ndim)) if axis is None else to_shape(axis))


@op("numpy", dtype=UNCHECKED)
def flipud(m: Any) -> Tensor:
    """The elements in reversed order along the first axis."""
    return torch.flip(to_array(m), (0,))


@op("numpy", dtype=UNCHECKED)
def fliplr(m: Any) -> Tensor:
    """The elements in reversed order along the second axis."""
    return torch.flip(to_array(m), (1,))


@op("numpy", dtype=UNCHECKED)
def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """A plane of axes turned by 90 degrees, `k` times."""
    return torch.rot90(to_array(a), to_int(k, "k"), to_shape(axes))


@op("numpy", dtype=UNCHECKED)
def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved along axes; what leaves at one end comes in at the other."""
    moves, over = to_shape(shift), () if axis is None else to_shape(axis)
    if len(over) != len(moves) and over:
        moves, over = (moves * len(over), over) if len(moves) == 1 else (moves, over * len(moves))
    return torch.roll(to_array(a), moves, over)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def size(a: Any, axis: int | None = None) -> int:
    """The number of elements, or the length of an axis."""
    made = to_array(a)
    return made.numel() if axis is None else made.shape[to_int(axis, "axis")]


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

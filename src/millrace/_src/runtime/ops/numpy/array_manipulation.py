"""NumPy array manipulation: reshape, concatenate, split, tile, roll, pad."""

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
    """Reshape the tensor; one length may be -1 and is inferred."""
    return torch.reshape(to_array(x), to_shape(new_shape))


@op("numpy", dtype=UNCHECKED)
def ravel(x: Any) -> Tensor:
    """Flatten all axes into one."""
    return to_array(x).reshape(-1)


@op("numpy", dtype=UNCHECKED)
def transpose(a: Any, axes: Any = None) -> Tensor:
    """Permute the axes, or reverse them."""
    tensor = to_array(a)
    return torch.permute(tensor, tuple(range(tensor.ndim - 1, -1, -1)) if axes is None else to_shape(axes))


@op("numpy", dtype=UNCHECKED)
def swapaxes(x: Any, axis1: int, axis2: int) -> Tensor:
    """Swap two axes."""
    return torch.transpose(to_array(x), to_int(axis1, "axis1"), to_int(axis2, "axis2"))


@op("numpy", dtype=UNCHECKED)
def moveaxis(a: Any, source: Any, destination: Any) -> Tensor:
    """Move axes to new positions; the other axes keep their order."""
    return torch.movedim(to_array(a), to_shape(source), to_shape(destination))


@op("numpy", dtype=UNCHECKED)
def rollaxis(x: Any, axis: int, start: int = 0) -> Tensor:
    """Move an axis back to before `start`."""
    tensor = to_array(x)
    if (
        not -tensor.ndim <= to_int(axis, "axis") < tensor.ndim
        or not -tensor.ndim <= to_int(start, "start") <= tensor.ndim
    ):
        raise ArgumentValueError(f"axis {axis} or start {start} is out of bounds for {tensor.ndim} axes.")
    axis, start = axis % tensor.ndim, start + tensor.ndim if start < 0 else start
    return torch.movedim(tensor, axis, start - 1 if start > axis else start)


@op("numpy", dtype=UNCHECKED)
def expand_dims(a: Any, axis: Any) -> Tensor:
    """Insert axes of length 1 at positions of the result."""
    tensor = to_array(a)
    positions = to_shape(axis)
    ndim = tensor.ndim + len(positions)
    if any(not -ndim <= position < ndim for position in positions):
        raise ArgumentValueError(f"For 'expand_dims', the axis must be in [{-ndim},{ndim}), but got {axis}.")
    for position in sorted(position % ndim for position in positions):
        tensor = tensor.unsqueeze(position)
    return tensor


@op("numpy", dtype=UNCHECKED)
def squeeze(a: Any, axis: Any = None) -> Tensor:
    """Remove all axes of length 1, or those named."""
    return torch.squeeze(to_array(a)) if axis is None else torch.squeeze(to_array(a), to_shape(axis))


@op("numpy", dtype=UNCHECKED)
def broadcast_to(array: Any, shape: Any) -> Tensor:
    """Broadcast the tensor to a shape."""
    return torch.broadcast_to(to_array(array), to_shape(shape))


@op("numpy", dtype=UNCHECKED)
def broadcast_arrays(*args: Any) -> Any:
    """Broadcast tensors to their common shape."""
    return list(torch.broadcast_tensors(*(to_array(each) for each in args)))


def _map_arrays(arys: tuple[Any, ...], make: Any) -> Any:
    tensors = [make(to_array(each)) for each in arys]
    return tensors[0] if len(tensors) == 1 else tensors


@op("numpy", dtype=UNCHECKED)
def atleast_1d(*arys: Any) -> Any:
    """Values as tensors with at least one axis."""
    return _map_arrays(arys, torch.atleast_1d)


@op("numpy", dtype=UNCHECKED)
def atleast_2d(*arys: Any) -> Any:
    """Values as tensors with at least two axes."""
    return _map_arrays(arys, torch.atleast_2d)


@op("numpy", dtype=UNCHECKED)
def atleast_3d(*arys: Any) -> Any:
    """Values as tensors with at least three axes."""
    return _map_arrays(arys, torch.atleast_3d)


def _to_common_dtype(values: Any) -> list[Tensor]:
    """Tensors to join, in their common dtype."""
    if isinstance(values, Tensor):
        values = tuple(values)
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(f"the tensors must come in a list or tuple, but got {values!r}.")
    if not values:
        raise ArgumentValueError("Need at least one tensor to concatenate.")
    parts = [to_array(each) for each in values]
    common_dtype = parts[0].dtype
    for part in parts[1:]:
        common_dtype = torch.promote_types(common_dtype, part.dtype)
    return [part.to(common_dtype) for part in parts]


@op("numpy", dtype=UNCHECKED)
def concatenate(arrays: Any, axis: int | None = 0) -> Tensor:
    """Concatenate tensors along an axis, or flattened if it is None."""
    parts = _to_common_dtype(arrays)
    return (
        torch.cat([part.reshape(-1) for part in parts])
        if axis is None
        else torch.cat(parts, to_int(axis, "axis"))
    )


@op("numpy", dtype=UNCHECKED)
def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    """Append values along an axis, or flattened if it is None."""
    return concatenate.raw((to_array(arr), to_array(values)), axis)


@op("numpy", dtype=UNCHECKED)
def stack(arrays: Any, axis: int = 0) -> Tensor:
    """Stack tensors along a new axis."""
    return torch.stack(_to_common_dtype(arrays), to_int(axis, "axis"))


@op("numpy", dtype=UNCHECKED)
def vstack(tup: Any) -> Tensor:
    """Concatenate tensors along the first axis; vectors are rows."""
    return torch.vstack(_to_common_dtype(tup))


@op("numpy", dtype=UNCHECKED)
def hstack(tup: Any) -> Tensor:
    """Concatenate tensors along the second axis, vectors along the first."""
    return torch.hstack(_to_common_dtype(tup))


@op("numpy", dtype=UNCHECKED)
def dstack(tup: Any) -> Tensor:
    """Concatenate tensors along the third axis."""
    return torch.dstack(_to_common_dtype(tup))


@op("numpy", dtype=UNCHECKED)
def column_stack(tup: Any) -> Tensor:
    """Concatenate tensors along the second axis; vectors are columns."""
    return torch.column_stack(_to_common_dtype(tup))


def _split_at(x: Any, where: Any, axis: int, even: bool, least: int = 1) -> Any:
    tensor = to_array(x)
    if tensor.ndim < least:
        raise ArgumentValueError(
            f"the tensor must have at least {least} axes to be split, but got {tensor.ndim}."
        )
    if isinstance(where, int) and not isinstance(where, bool):
        length = tensor.shape[axis] if -tensor.ndim <= axis < tensor.ndim else 0
        if where <= 0 or (even and length % where):
            raise ArgumentValueError(
                f"the length, {length}, must be divisible by the number of parts, {where}."
            )
        return torch.tensor_split(tensor, where, axis)
    if not isinstance(where, (list, tuple)):
        raise ArgumentTypeError(
            f"'indices_or_sections' must be an int, or a list or tuple of ints, but got {where!r}."
        )
    return list(torch.tensor_split(tensor, to_shape(where), axis))


@op("numpy", dtype=UNCHECKED)
def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into equal parts, or before each of the given indices."""
    return _split_at(x, indices_or_sections, axis, even=True)


@op("numpy", dtype=UNCHECKED)
def array_split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Split along an axis into nearly equal parts, or before each of the given indices."""
    return _split_at(x, indices_or_sections, axis, even=False)


@op("numpy", dtype=UNCHECKED)
def vsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the first axis."""
    return _split_at(x, indices_or_sections, 0, even=True)


@op("numpy", dtype=UNCHECKED)
def hsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the second axis."""
    return _split_at(x, indices_or_sections, 1, even=True, least=2)


@op("numpy", dtype=UNCHECKED)
def dsplit(x: Any, indices_or_sections: Any) -> Any:
    """Split along the third axis."""
    return _split_at(x, indices_or_sections, 2, even=True, least=3)


@op("numpy", dtype=UNCHECKED)
def tile(a: Any, reps: Any) -> Tensor:
    """Repeat the whole tensor a number of times along each axis."""
    return torch.tile(to_array(a), to_shape(reps))


@op("numpy", dtype=UNCHECKED)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis, or of the flattened tensor. `repeats` is one number or one per element."""
    tensor = to_array(a)
    times = to_shape(repeats)
    if any(each < 0 for each in times):
        raise ArgumentValueError(f"For 'repeat', no number may be negative, but got {times}.")
    if len(times) == 1:
        return torch.repeat_interleave(tensor, times[0], axis)
    return torch.repeat_interleave(tensor, torch.tensor(times, device=tensor.device), axis)


@op("numpy", dtype=UNCHECKED)
def flip(m: Any, axis: Any = None) -> Tensor:
    """Reverse the order of the elements along axes, or along all."""
    tensor = to_array(m)
    return torch.flip(tensor, tuple(range(tensor.ndim)) if axis is None else to_shape(axis))


@op("numpy", dtype=UNCHECKED)
def flipud(m: Any) -> Tensor:
    """Reverse the order of the elements along the first axis."""
    return torch.flip(to_array(m), (0,))


@op("numpy", dtype=UNCHECKED)
def fliplr(m: Any) -> Tensor:
    """Reverse the order of the elements along the second axis."""
    return torch.flip(to_array(m), (1,))


@op("numpy", dtype=UNCHECKED)
def rot90(a: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """Rotate a plane of two axes by 90 degrees, `k` times."""
    return torch.rot90(to_array(a), to_int(k, "k"), to_shape(axes))


@op("numpy", dtype=UNCHECKED)
def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    """Roll the elements along axes; elements shifted beyond the end reappear at the start."""
    moves, over = to_shape(shift), () if axis is None else to_shape(axis)
    if len(over) != len(moves) and over:
        moves, over = (moves * len(over), over) if len(moves) == 1 else (moves, over * len(moves))
    return torch.roll(to_array(a), moves, over)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def size(a: Any, axis: int | None = None) -> int:
    """Number of elements, or the length of an axis."""
    tensor = to_array(a)
    return tensor.numel() if axis is None else tensor.shape[to_int(axis, "axis")]


def _parse_widths(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """One pair per axis, from a number, a pair, or pairs."""
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


def _fold_positions(positions: Tensor, length: int, mode: str) -> Tensor:
    """Map positions outside an axis back into it."""
    if mode == "edge" or length == 1:
        return positions.clamp(0, length - 1)
    if mode == "wrap":
        return torch.remainder(positions, length)
    around = 2 * length - (2 if mode == "reflect" else 0)
    positions = torch.remainder(positions, around)
    return torch.where(positions >= length, around - positions - (0 if mode == "reflect" else 1), positions)


_STATISTICS: dict[str, Any] = {"maximum": torch.amax, "minimum": torch.amin, "mean": torch.mean}


def _pad_axis(tensor: Tensor, axis: int, width: tuple[int, int], mode: str, stat: Any, value: Any) -> Tensor:
    """Pad both sides of an axis with one value, or with a ramp."""
    length = tensor.shape[axis]
    sides = []
    for side in (0, 1):
        edge = tensor.narrow(axis, 0 if side == 0 else length - 1, 1)
        if mode in _STATISTICS:
            count = length if stat is None else min(int(stat[side]), length)
            part = tensor.narrow(axis, 0 if side == 0 else length - count, count)
            fill = _STATISTICS[mode](part, axis, True).to(tensor.dtype)
        else:
            fill = torch.full_like(edge, value[side])
        shape = [width[side] if index == axis else each for index, each in enumerate(edge.shape)]
        if mode == "linear_ramp":
            steps = torch.arange(width[side], dtype=tensor.dtype, device=tensor.device) / max(width[side], 1)
            steps = (
                steps if side == 0 else 1 - steps - (1 / max(width[side], 1) if width[side] else 0)
            ).reshape([-1 if index == axis else 1 for index in range(tensor.ndim)])
            sides.append(fill + (edge - fill) * steps)
        else:
            sides.append(fill.expand(shape))
    return torch.cat((sides[0], tensor, sides[1]), axis)


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
    """Pad each side by `pad_width` elements. Modes: "constant", "edge", "reflect", "symmetric", "wrap", "maximum",
    "minimum", "mean", "linear_ramp" and "empty".
    """
    tensor = to_array(arr)
    if not isinstance(mode, str):
        raise ArgumentTypeError(f"For 'pad', the mode must be a name, but got {mode!r}.")
    widths = _parse_widths(pad_width, tensor.ndim)
    values = _parse_widths(end_values if mode == "linear_ramp" else constant_values, tensor.ndim)
    stats = None if stat_length is None else _parse_widths(stat_length, tensor.ndim)
    if mode not in ("constant", "empty", "edge", "reflect", "symmetric", "wrap", "linear_ramp", *_STATISTICS):
        raise ArgumentValueError(f"For 'pad', the mode {mode!r} is not supported.")
    if any(int(each) != each or each < 0 for pair in widths for each in pair):
        raise ArgumentValueError(f"For 'pad', the widths must be ints >= 0, but got {pad_width}.")
    for axis, (before, after) in enumerate(widths):
        if mode in ("edge", "reflect", "symmetric", "wrap"):
            length = tensor.shape[axis]
            positions = torch.arange(-before, length + after, device=tensor.device)
            inside = torch.index_select(tensor, axis, _fold_positions(positions, length, mode))
            if reflect_type == "odd" and mode in ("reflect", "symmetric"):
                shape = [-1 if index == axis else 1 for index in range(tensor.ndim)]
                low, high = tensor.narrow(axis, 0, 1), tensor.narrow(axis, length - 1, 1)
                inside = torch.where((positions < 0).reshape(shape), 2 * low - inside, inside)
                inside = torch.where((positions >= length).reshape(shape), 2 * high - inside, inside)
            tensor = inside
        else:
            tensor = _pad_axis(tensor, axis, (before, after), mode, stats and stats[axis], values[axis])
    return tensor

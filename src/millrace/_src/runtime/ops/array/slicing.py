"""Slicing: slice, strided_slice, narrow, select."""

from __future__ import annotations

import builtins
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "SelectView",
    "Slice",
    "StridedSlice",
    "itemset",
    "narrow",
    "narrow_mint",
    "select_mint",
    "select_view",
    "slice",
    "strided_slice",
]


def _parse_bounds(value: Any, name: str, argument: str) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple, Tensor)):
        raise ArgumentTypeError(
            f"For '{name}', '{argument}' must be a tuple, list or Tensor of ints, but got {value!r}."
        )
    return to_shape(value)


@op("ops", "ops:tensor_slice", dtype=SAME)
def slice(input_x: Tensor, begin: Any, size: Any) -> Tensor:
    """Slice of `size` elements from `begin` along each axis; size -1 is everything that remains."""
    first, lengths = _parse_bounds(begin, "Slice", "begin"), _parse_bounds(size, "Slice", "size")
    if not len(first) == len(lengths) == input_x.ndim:
        raise ArgumentValueError(
            f"For 'Slice', begin and size must have one number for each of the {input_x.ndim} axes, "
            f"but got {first} and {lengths}."
        )
    part = input_x
    for axis, (start, length) in enumerate(zip(first, lengths)):
        whole = input_x.shape[axis]
        length = whole - start if length == -1 else length
        if start < 0 or length < 0 or start + length > whole:
            raise ArgumentValueError(
                f"For 'Slice', the sum of begin_shape[{axis}] and size_shape[{axis}] must be no greater than "
                f"input_x_shape[{axis}]: begin {first}, size {lengths}, shape {tuple(input_x.shape)}."
            )
        if length != whole:
            part = part.narrow(axis, start, length)
    return part


@op("ops", dtype=SAME)
def strided_slice(
    input_x: Tensor,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """``x[begin:end:strides]`` along each axis. Bit i of a mask refers to entry i: ignore its begin or end, expand it
    as `...`, insert a new axis, or take a single index and remove the axis.
    """
    first, last, steps = (
        _parse_bounds(value, "StridedSlice", name)
        for value, name in ((begin, "begin"), (end, "end"), (strides, "strides"))
    )
    if not len(first) == len(last) == len(steps):
        raise ArgumentValueError(
            "For 'StridedSlice', 'begin', 'end' and 'strides' must have the same length, but got length of "
            f"'begin': {len(first)}, 'end': {len(last)}, 'strides': {len(steps)}."
        )
    if 0 in steps:
        raise ArgumentValueError("For 'StridedSlice', input 'strides' can not contain 0.")
    view, axis = input_x, 0
    for index, (start, stop, step) in enumerate(zip(first, last, steps)):
        bit = 1 << index
        if ellipsis_mask & bit:
            later = sum(1 for n in range(index + 1, len(first)) if not new_axis_mask & (1 << n))
            axis = view.ndim - later
        elif new_axis_mask & bit:
            view = view.unsqueeze(axis)
            axis += 1
        elif axis >= view.ndim:
            raise ArgumentValueError(
                f"For 'StridedSlice', there are {len(first)} entries for a tensor of shape {tuple(input_x.shape)}."
            )
        elif shrink_axis_mask & bit:
            view = view.select(axis, start)
        else:
            view = _slice_axis(
                view, axis, None if begin_mask & bit else start, None if end_mask & bit else stop, step
            )
            axis += 1
    return view


def _slice_axis(input: Tensor, axis: int, start: int | None, stop: int | None, step: int) -> Tensor:
    """``input[..., start:stop:step, ...]`` with Python's semantics."""
    chosen = range(input.shape[axis])[start:stop:step]
    if not chosen:
        return input.narrow(axis, 0, 0)
    low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
    part = input.narrow(axis, low, high - low + 1)
    if abs(step) > 1:
        part = part[(builtins.slice(None),) * axis + (builtins.slice(None, None, abs(step)),)]
    return part.flip(axis) if step < 0 else part


def _narrow(input: Tensor, axis: int, start: Any, length: int) -> Tensor:
    axis, count = to_int(axis, "axis"), to_int(length, "length")
    if not -input.ndim <= axis < input.ndim:
        raise ArgumentValueError(
            f"For 'narrow', the axis must be in [{-input.ndim},{input.ndim}), but got {axis}."
        )
    whole, first = input.shape[axis], to_int(start, "start")
    if not 0 <= first < whole or not 1 <= count <= whole - first:
        raise ArgumentValueError(
            f"For 'narrow', start {first} and length {count} must lie within the axis, which is {whole} long."
        )
    return input.narrow(axis, first, count)


@op("ops", dtype=SAME)
def narrow(input: Tensor, axis: int, start: Any, length: int) -> Tensor:
    """Slice of `length` elements of an axis from `start`."""
    return _narrow(input, axis, start, length)


@op("mint:narrow", "Tensor:narrow", dtype=SAME, also={"axis": "dim"})
def narrow_mint(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """Slice of `length` elements of an axis from `start`."""
    return input.narrow(dim, to_int(start, "start"), to_int(length, "length"))


@op("mint:select", dtype=SAME)
def select_mint(input: Tensor, dim: int, index: int) -> Tensor:
    """One slice of an axis, without that axis."""
    return input.select(to_int(dim, "dim"), to_int(index, "index"))


@op(dtype=SAME)
def select_view(input: Tensor, input_indices: int, axis: int) -> Tensor:
    """One slice of an axis, without that axis."""
    return input.select(to_int(axis, "axis"), to_int(input_indices, "input_indices"))


@op("Tensor", dtype=SAME)
def itemset(input: Tensor, *args: Any) -> Tensor:
    """Copy of the tensor with one element replaced: ``x.itemset((0, 1), 5.0)``. A tensor of one element needs no
    index.
    """
    if len(args) == 1 and input.numel() == 1:
        return torch.full_like(input, args[0])
    if len(args) != 2:
        raise ArgumentValueError(
            f"Only tensor which shape is (1,) support 1 arg that means omit index, but the tensor shape is "
            f"{tuple(input.shape)} and got {len(args)} input."
        )
    copy = input.clone(memory_format=torch.contiguous_format)
    coordinates = to_shape(args[0])
    if len(coordinates) == 1 and input.ndim != 1:
        copy.reshape(-1)[coordinates[0]] = args[1]
    else:
        copy[coordinates] = args[1]
    return copy


Slice = primitive("Slice", slice, init=())
StridedSlice = primitive(
    "StridedSlice",
    strided_slice,
    init=("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"),
)
SelectView = primitive("SelectView", select_view, init=())

"""Broadcast and repeat: broadcast_to, expand, tile, repeat_interleave, meshgrid, combinations."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape, unpack_varargs
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BroadcastTo",
    "Expand",
    "Meshgrid",
    "Tile",
    "broadcast_to",
    "cartesian_prod",
    "combinations",
    "expand",
    "expand_as",
    "expand_method",
    "meshgrid",
    "meshgrid_mint",
    "repeat",
    "repeat_elements",
    "repeat_interleave",
    "repeat_interleave_mint",
    "tile",
]


def _broadcast(input: Tensor, shape: Any, name: str) -> Tensor:
    wanted = to_shape(shape)
    if -1 in wanted[: max(len(wanted) - input.ndim, 0)]:
        raise ArgumentValueError(
            f"For '{name}', -1 keeps a length, and may not stand for an axis that the tensor has not got: shape "
            f"{wanted} for a tensor of shape {tuple(input.shape)}."
        )
    return torch.broadcast_to(input, wanted)


@op("ops", "mint", "Tensor", dtype=SAME)
def broadcast_to(input: Tensor, shape: Any) -> Tensor:
    """Broadcast the tensor to `shape`: new axes and axes of length 1 are repeated; -1 keeps a length."""
    return _broadcast(input, shape, "BroadcastTo")


@op("ops", dtype=SAME)
def expand(input_x: Tensor, size: Any) -> Tensor:
    """Broadcast the tensor to `shape`: new axes and axes of length 1 are repeated; -1 keeps a length."""
    return _broadcast(input_x, size, "expand")


@op("Tensor:expand", dtype=SAME)
def expand_method(input_x: Tensor, *size: Any) -> Tensor:
    """Broadcast the tensor to a shape given as a tuple or as separate ints; -1 keeps a length."""
    return _broadcast(input_x, unpack_varargs(size), "expand")


@op("ops", "Tensor", dtype=SAME, also={"x": "other"})
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Broadcast the tensor to the shape of another tensor."""
    return torch.broadcast_to(input, other.shape)


def _parse_repeats(dims: Any, name: str) -> tuple[int, ...]:
    repeats = to_shape(dims)
    for index, each in enumerate(repeats):
        if each < 0:
            raise ArgumentValueError(
                f"For '{name}', 'dims' cannot contain negative integer numbers, but got {each} in {index}th."
            )
    return repeats


@op("ops", "mint", "Tensor", dtype=SAME, also={"reps": "dims"})
def tile(input: Tensor, dims: Any) -> Tensor:
    """Repeat the whole tensor `dims[i]` times along axis i."""
    if isinstance(dims, int):
        raise ArgumentTypeError(f"For 'tile', 'dims' must be a tuple of ints: ({dims},)")
    return torch.tile(input, _parse_repeats(dims, "Tile"))


@op("Tensor", dtype=SAME)
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Repeat the whole tensor a number of times along each axis; there may be more numbers than axes."""
    times = _parse_repeats(unpack_varargs(repeats), "repeat")
    if len(times) < input.ndim:
        raise ArgumentValueError(
            f"For 'repeat', there must be a number for each of the {input.ndim} axes, but got {times}; "
            "x.repeat_interleave repeats the elements of one axis."
        )
    return input.repeat(times)


@op("ops", dtype=SAME)
def repeat_elements(x: Tensor, rep: int, axis: int = 0) -> Tensor:
    """Repeat each element `rep` times along an axis."""
    if to_int(rep, "rep") <= 0:
        raise ArgumentValueError(f"For 'repeat_elements', the 'rep' must be more than 0, but got {rep}.")
    return torch.repeat_interleave(x, rep, axis)


def _repeat_interleave(input: Tensor, repeats: Any, axis: int | None) -> Tensor:
    if isinstance(repeats, (list, tuple)):
        numbers = to_shape(repeats)
        if len(numbers) == 1:
            repeats = numbers[0]
        else:
            repeats = torch.tensor(numbers, device=input.device)
    elif not isinstance(repeats, Tensor):
        repeats = to_int(repeats, "repeats")
    if isinstance(repeats, int):
        if repeats < 0:
            raise ArgumentValueError(
                f"For 'repeat_interleave', 'repeats' must be at least 0, but got {repeats}."
            )
        return torch.repeat_interleave(input, repeats, axis)
    length = input.numel() if axis is None else input.shape[axis]
    if repeats.ndim and repeats.numel() not in (1, length):
        raise ArgumentValueError(
            "For 'repeat_interleave', the length of 'repeats' must be the same as the shape of the original tensor in "
            f"the 'axis' dimension, but got {repeats.numel()} and {length}."
        )
    return torch.repeat_interleave(input, repeats, axis)


@op("ops", "Tensor", dtype=SAME, also={"dim": "axis"})
def repeat_interleave(input: Tensor, repeats: Any, axis: int | None = None) -> Tensor:
    """Repeat each element along an axis, or of the flattened tensor. `repeats` is one number or one per element."""
    return _repeat_interleave(input, repeats, axis)


@op("mint:repeat_interleave", dtype=SAME)
def repeat_interleave_mint(
    input: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Repeat each element along an axis, or of the flattened tensor. `repeats` is one number or one per element."""
    return _repeat_interleave(input, repeats, dim)


def _make_grids(inputs: tuple[Any, ...], indexing: str) -> Any:
    if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)):
        inputs = tuple(inputs[0])
    if indexing not in ("xy", "ij"):
        raise ArgumentValueError(f"For 'meshgrid', 'indexing' must be 'xy' or 'ij', but got {indexing!r}.")
    for each in inputs:
        if not isinstance(each, Tensor):
            raise ArgumentTypeError(f"For 'meshgrid', each input must be a Tensor, but got {each!r}.")
        if each.dtype is not inputs[0].dtype:
            raise ArgumentValueError("For 'meshgrid', all tensors should have the same type.")
    return tuple(torch.meshgrid(*inputs, indexing=indexing))


@op("ops", dtype=UNCHECKED)
def meshgrid(*inputs: Tensor, indexing: str = "xy") -> Any:
    """Coordinate grids of several vectors. Indexing "xy" swaps the first two axes of the grids."""
    return _make_grids(inputs, indexing)


@op("mint:meshgrid", dtype=UNCHECKED)
def meshgrid_mint(*tensors: Tensor, indexing: str = "ij") -> Any:
    """Coordinate grids of several vectors."""
    return _make_grids(tensors, indexing)


@op("ops", dtype=UNCHECKED)
def cartesian_prod(*inputs: Tensor) -> Tensor:
    """Cartesian product of vectors: one combination per row."""
    grids = torch.meshgrid(*inputs, indexing="ij")
    return torch.stack([grid.reshape(-1) for grid in grids], dim=-1)


@op("ops", dtype=SAME)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Combinations of `r` elements of a vector, one per row, in order."""
    if input.ndim != 1:
        raise ArgumentValueError(f"For 'combinations', the dimension 'x' must be 1, but got {input.ndim}")
    return torch.combinations(input, to_int(r, "r"), with_replacement)


BroadcastTo = primitive("BroadcastTo", broadcast_to, init=("shape",))
Expand = primitive("Expand", expand, init=())
Tile = primitive("Tile", tile, init=())
Meshgrid = primitive("Meshgrid", meshgrid, init=("indexing",))

"""Flip, roll and rotate: flip, roll, rot90, reverse_sequence."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape, unpack_varargs
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.index_arguments import normalize_axis
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ReverseSequence",
    "ReverseV2",
    "Roll",
    "flip",
    "flip_method",
    "fliplr",
    "flipud",
    "reverse",
    "reverse_sequence",
    "reverse_sequence_method",
    "roll",
    "rot90",
]


def _flip_axes(input: Tensor, dims: Any, name: str) -> Tensor:
    if not isinstance(dims, (list, tuple)):
        raise ArgumentTypeError(f"For '{name}', the axes must come in a list or tuple, but got {dims!r}.")
    return torch.flip(input, to_shape(dims))


@op("ops", "mint", dtype=SAME)
def flip(input: Tensor, dims: Any) -> Tensor:
    """Reverse the order of the elements along axes."""
    return _flip_axes(input, dims, "flip")


@op("Tensor:flip", dtype=SAME)
def flip_method(input: Tensor, *dims: Any) -> Tensor:
    """Reverse the order of the elements along axes, given as a tuple or as separate ints."""
    return _flip_axes(input, unpack_varargs(dims), "flip")


@op("ops", "Tensor", dtype=SAME)
def reverse(x: Tensor, axis: Any) -> Tensor:
    """Reverse the order of the elements along axes."""
    return _flip_axes(x, axis, "ReverseV2")


@op("ops", "Tensor", dtype=SAME)
def fliplr(input: Tensor) -> Tensor:
    """Reverse the order of the elements along the second axis."""
    return torch.flip(input, (1,))


@op("ops", "Tensor", dtype=SAME)
def flipud(input: Tensor) -> Tensor:
    """Reverse the order of the elements along the first axis."""
    if not input.ndim:
        raise ArgumentValueError("For 'flipud', the input must have at least one axis, but got a 0-d tensor.")
    return torch.flip(input, (0,))


@op("ops", "Tensor", dtype=SAME)
def rot90(input: Tensor, k: int, dims: Any) -> Tensor:
    """Rotate a plane of two axes by 90 degrees, `k` times."""
    plane = to_shape(dims)
    if len(plane) == 2 and plane[0] == plane[1]:
        raise OperationError(f"For 'rot90', rotation dims must be different, but got {plane}.")
    for axis in plane:
        normalize_axis("rot90", axis, input.ndim)
    return torch.rot90(input, to_int(k, "k"), plane)


@op("ops", "mint", "Tensor", dtype=SAME)
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Roll the elements along axes; elements shifted beyond the end reappear at the start. Without axes, the flattened
    tensor is rolled.
    """
    return torch.roll(input, to_shape(shifts), () if dims is None else to_shape(dims))


@op("ops", dtype=SAME)
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """Reverse the first `seq_lengths[i]` elements of entry i of the batch."""
    return _reverse_first(x, seq_lengths, seq_dim, batch_dim)


@op("Tensor:reverse_sequence", dtype=SAME)
def reverse_sequence_method(x: Tensor, seq_lengths: Tensor, seq_dim: int = 0, batch_dim: int = 0) -> Tensor:
    """Reverse the first `seq_lengths[i]` elements of entry i of the batch."""
    return _reverse_first(x, seq_lengths, seq_dim, batch_dim)


def _reverse_first(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int) -> Tensor:
    count, batch = x.shape[seq_dim], x.shape[batch_dim]
    if seq_dim % x.ndim == batch_dim % x.ndim:
        raise ArgumentValueError(
            f"For 'ReverseSequence', seq_dim and batch_dim must differ, but both are {seq_dim}."
        )
    if tuple(seq_lengths.shape) != (batch,):
        raise ArgumentValueError(
            f"For 'ReverseSequence', the 'seq_lengths' vector size should be = input size along batch_dim: {batch}, "
            f"but got shape {tuple(seq_lengths.shape)}."
        )
    positions = torch.arange(count, device=x.device)
    lengths = seq_lengths.to(torch.int64).unsqueeze(-1)
    taken = torch.where(
        positions < lengths, lengths - 1 - positions, positions
    )  # [batch, count]; lengths that are too large fail in gather
    shape = [1] * x.ndim
    shape[seq_dim], shape[batch_dim] = count, batch
    if seq_dim % x.ndim < batch_dim % x.ndim:
        taken = taken.T
    return torch.gather(x, seq_dim, taken.reshape(shape).expand(x.shape))


ReverseV2 = primitive("ReverseV2", reverse, init=("axis",))
ReverseSequence = primitive("ReverseSequence", reverse_sequence, init=("seq_dim", "batch_dim"))
Roll = primitive("Roll", roll, init=("shifts", "dims"))

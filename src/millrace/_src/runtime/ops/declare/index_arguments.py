"""Index arguments: negative indices, coordinates, axis checks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError

__all__ = ["normalize_axis", "split_coordinates", "normalize_indices", "check_integer_indices"]

_INDEX = frozenset({torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8})


def check_integer_indices(name: str, index: Any) -> Tensor:
    """Check that the indices are integers."""
    if not isinstance(index, Tensor) or index.dtype not in _INDEX:
        got = index.dtype if isinstance(index, Tensor) else repr(index)
        raise ArgumentTypeError(
            f"For '{name}', the indices must be a Tensor of int32 or int64, but got {got}; use astype(mindspore.int32)."
        )
    return index


def normalize_indices(name: str, index: Tensor, size: int) -> Tensor:
    """Indices as int64; negative ones count from the end. Indices out of range stay so, and are rejected later."""
    index = check_integer_indices(name, index).long()
    return torch.where(index < 0, index + size, index)


def normalize_axis(name: str, axis: Any, ndim: int) -> int:
    """Non-negative axis."""
    if isinstance(axis, Tensor):
        axis = int(axis)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentTypeError(f"For '{name}', the axis must be an int, but got {axis!r}.")
    if not -ndim <= axis < ndim:
        raise ArgumentValueError(f"For '{name}', the axis must be in [{-ndim}, {ndim}), but got {axis}.")
    return axis % ndim


def split_coordinates(name: str, input: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
    """Split the last axis of `indices` into coordinates of `input`, one tensor per axis."""
    check_integer_indices(name, indices)
    if not indices.ndim or indices.shape[-1] > input.ndim:
        raise ArgumentValueError(
            f"For '{name}', the last axis of the indices must hold at most {input.ndim} coordinates of a shape "
            f"{tuple(input.shape)}, but the indices have shape {tuple(indices.shape)}."
        )
    return indices.long().unbind(-1)

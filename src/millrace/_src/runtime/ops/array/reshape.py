"""Reshape and permute axes: reshape, view, transpose, squeeze, flatten, movedim."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import to_int, to_shape, unpack_varargs
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ExpandDims",
    "Flatten",
    "Reshape",
    "Squeeze",
    "Transpose",
    "TransposeExtView",
    "TransposeView",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "expand_dims",
    "flatten",
    "flatten_method",
    "flatten_mint",
    "flatten_rows",
    "movedim",
    "permute",
    "permute_method",
    "permute_mint",
    "ravel",
    "reshape",
    "reshape_as",
    "resize",
    "squeeze",
    "squeeze_mint",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "transpose_method",
    "transpose_mint",
    "unsqueeze",
    "view",
    "view_as",
]


@op("ops", "mint", "ops:reshape_", dtype=SAME)
def reshape(input: Tensor, shape: Any) -> Tensor:
    """Reshape the tensor; one length may be -1 and is inferred."""
    if isinstance(shape, int):
        raise ArgumentTypeError(
            f"For 'reshape', the shape must be a tuple, list or Tensor of ints: ({shape},)"
        )
    return torch.reshape(input, to_shape(shape))


@op("Tensor", dtype=SAME)
def view(input: Tensor, *shape: Any) -> Tensor:
    """Reshape the tensor; the shape is given as ints or as a tuple."""
    return torch.reshape(input, to_shape(unpack_varargs(shape)))


@op("ops", "Tensor", dtype=SAME)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Reshape the tensor to the shape of another."""
    return torch.reshape(input, other.shape)


@op("Tensor", dtype=SAME)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Reshape the tensor to the shape of another."""
    return torch.reshape(input, other.shape)


@op("Tensor", dtype=SAME)
def resize(input: Tensor, *new_shape: Any) -> Tensor:
    """Resize the flattened elements to another shape: truncated if it is smaller, padded with zeros if it is larger."""
    shape = to_shape(unpack_varargs(new_shape))
    if any(length < 0 for length in shape):
        raise ArgumentValueError(f"For 'resize', no length of new_shape may be negative, but got {shape}.")
    flat, count = input.reshape(-1), math.prod(shape)
    if count > flat.numel():
        flat = torch.cat((flat, flat.new_zeros(count - flat.numel())))
    return flat[:count].reshape(shape)


def _permute(input: Tensor, order: Any) -> Tensor:
    axes = to_shape(order)
    if len(axes) != input.ndim:
        raise ArgumentValueError(
            f"For 'transpose', size of perm should equal to rank of x, but got {len(axes)} and {input.ndim}!"
        )
    return torch.permute(input, axes)


@op("ops", dtype=SAME)
def transpose(input: Tensor, input_perm: Any) -> Tensor:
    """Permute the axes."""
    return _permute(input, input_perm)


@op("mint:transpose", dtype=SAME)
def transpose_mint(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes."""
    return torch.transpose(input, dim0, dim1)


@op("Tensor:transpose", dtype=SAME)
def transpose_method(input: Tensor, *axes: Any, dim0: Any = None, dim1: Any = None) -> Tensor:
    """Permute the axes: by a full order, by two axes to swap, or reversed without arguments."""
    if dim0 is not None:
        axes = (dim0, dim1)
    if not axes or axes == (None,):
        return torch.permute(input, tuple(range(input.ndim - 1, -1, -1)))
    if len(axes) == 2:
        return torch.transpose(input, to_int(axes[0], "dim0"), to_int(axes[1], "dim1"))
    return _permute(input, unpack_varargs(axes))


@op("ops", dtype=SAME)
def permute(input: Tensor, axis: Any) -> Tensor:
    """Permute the axes."""
    return _permute(input, axis)


@op("mint:permute", dtype=SAME)
def permute_mint(input: Tensor, dims: Any) -> Tensor:
    """Permute the axes."""
    return _permute(input, dims)


@op("Tensor:permute", dtype=SAME)
def permute_method(input: Tensor, *axis: Any) -> Tensor:
    """Permute the axes; the order is given as ints or as a tuple."""
    return _permute(input, unpack_varargs(axis))


@op("ops", "mint", "Tensor", dtype=SAME)
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Swap two axes."""
    return torch.transpose(input, to_int(axis0, "axis0"), to_int(axis1, "axis1"))


@op("ops", "Tensor", dtype=SAME)
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two axes."""
    return torch.transpose(input, to_int(dim0, "dim0"), to_int(dim1, "dim1"))


@op("ops", "ops:moveaxis", "Tensor", "Tensor:moveaxis", dtype=SAME)
def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    """Move axes to new positions; the other axes keep their order."""
    return torch.movedim(x, to_shape(source), to_shape(destination))


@op("ops", "mint", "Tensor", dtype=SAME)
def t(input: Tensor) -> Tensor:
    """Transpose of a matrix; tensors of other ranks are returned unchanged."""
    return input.t() if input.ndim == 2 else input


@op("ops", "Tensor", dtype=SAME)
def expand_dims(input_x: Tensor, axis: Any) -> Tensor:
    """Insert an axis of length 1."""
    return torch.unsqueeze(input_x, to_int(axis, "axis"))


@op("ops", "mint", "Tensor", dtype=SAME)
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert an axis of length 1."""
    return torch.unsqueeze(input, to_int(dim, "dim"))


@op("ops", "Tensor", dtype=SAME)
def squeeze(input: Tensor, axis: Any = None) -> Tensor:
    """Remove all axes of length 1, or those named."""
    return torch.squeeze(input) if axis is None or axis == () else torch.squeeze(input, to_shape(axis))


@op("mint:squeeze", dtype=SAME)
def squeeze_mint(input: Tensor, dim: Any) -> Tensor:
    """Remove the named axes that have length 1."""
    return torch.squeeze(input, to_shape(dim))


def _apply_order(input: Tensor, order: str) -> Tensor:
    if order not in ("C", "F"):
        error_class = ArgumentValueError if isinstance(order, str) else ArgumentTypeError
        raise error_class(f"For 'flatten', argument 'order' must be 'C' or 'F', but got {order!r}.")
    return torch.permute(input, tuple(range(input.ndim - 1, -1, -1))) if order == "F" else input


@op("ops", dtype=SAME)
def flatten(input: Tensor, order: str = "C", *, start_dim: int = 1, end_dim: int = -1) -> Tensor:
    """Flatten several axes into one; `order` "F" is column-major."""
    input = _apply_order(input, order)
    if input.ndim < 2:
        return input.reshape(-1)
    return torch.flatten(input, start_dim, end_dim)


@op("mint:flatten", dtype=SAME)
def flatten_mint(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Flatten several axes into one."""
    return torch.flatten(input, start_dim, end_dim)


@op("Tensor:flatten", dtype=SAME)
def flatten_method(
    input: Tensor, order: Any = "C", end: Any = None, *, start_dim: int = 0, end_dim: int = -1
) -> Tensor:
    """Flatten several axes into one: ``x.flatten("F")``, ``x.flatten(1, 2)``."""
    if isinstance(order, int) and not isinstance(order, bool):
        return torch.flatten(input, order, end_dim if end is None else end)
    return torch.flatten(_apply_order(input, order), start_dim, end_dim)


@op(dtype=SAME)
def flatten_rows(input_x: Tensor) -> Tensor:
    """Flatten all axes except the first."""
    if not input_x.ndim:
        raise OperationError("For 'Flatten', the input must have at least one axis, but got a 0-d tensor.")
    return input_x.reshape(input_x.shape[0], math.prod(input_x.shape[1:]))


@op("ops", "mint", "Tensor", dtype=SAME)
def ravel(input: Tensor) -> Tensor:
    """Flatten all axes into one."""
    return input.reshape(-1)


Reshape = primitive("Reshape", reshape, init=())
Transpose = primitive("Transpose", transpose, init=())
TransposeView = primitive("TransposeView", transpose, init=())
TransposeExtView = primitive("TransposeExtView", transpose_mint, init=())
ExpandDims = primitive("ExpandDims", expand_dims, init=())
Squeeze = primitive("Squeeze", squeeze, init=("axis",), axis=())
Flatten = primitive("Flatten", flatten_rows, init=())


def _map_tensors(inputs: Any, make: Any) -> Any:
    if isinstance(inputs, (list, tuple)):
        return tuple(make(each) for each in inputs)
    return make(inputs)


@op("ops", dtype=SAME)
def atleast_1d(inputs: Any) -> Any:
    """View of the tensor, or of each of several, with at least one axis."""
    return _map_tensors(inputs, torch.atleast_1d)


@op("ops", dtype=SAME)
def atleast_2d(inputs: Any) -> Any:
    """View of the tensor, or of each of several, with at least two axes."""
    return _map_tensors(inputs, torch.atleast_2d)


@op("ops", dtype=SAME)
def atleast_3d(inputs: Any) -> Any:
    """View of the tensor, or of each of several, with at least three axes."""
    return _map_tensors(inputs, torch.atleast_3d)


export_names(__name__, "mint.nn.functional", flatten="flatten_mint")

"""Assignment: writing values into a Parameter or Tensor in place. The storage stays, so captured graphs see the new
values.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor as MillraceTensor
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import Primitive, primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Assign",
    "AssignAdd",
    "AssignSub",
    "CopyWithSlice",
    "assign",
    "assign_add",
    "assign_sub",
    "copy_",
    "fill_",
    "fill_diagonal_",
    "zero_",
]


def _check_same_shape(variable: Tensor, value: Any, name: str) -> Any:
    shape = tuple(value.shape) if isinstance(value, Tensor) else ()
    if shape != tuple(variable.shape):
        raise ArgumentValueError(
            f"For '{name}','value' must have the same shape as 'variable'. But got 'value' shape: {shape}, "
            f"'variable' shape: {tuple(variable.shape)}."
        )
    if not isinstance(value, (Tensor, bool, int, float, complex)):
        raise ArgumentTypeError(f"For '{name}', the value must be a Tensor or a number, but got {value!r}.")
    return value


def _check_summand(variable: Tensor, value: Any, name: str) -> Any:
    value = _check_same_shape(variable, value, name)
    if isinstance(value, Tensor) and torch.promote_types(variable.dtype, value.dtype) is not variable.dtype:
        raise ArgumentTypeError(
            f"For '{name}', the variable keeps its type, so a value of type {value.dtype} cannot be added to one of "
            f"type {variable.dtype}. Convert the value with x.astype(...)."
        )
    return value


@op("ops", dtype=SAME, differentiable=False)
def assign(variable: Tensor, value: Tensor | float) -> Tensor:
    """Assign a value of the same shape to a Parameter or Tensor in place, and return it."""
    value = _check_same_shape(variable, value, "Assign")
    with torch.no_grad():
        return variable.copy_(value) if isinstance(value, Tensor) else variable.fill_(value)


@op("ops", dtype=SAME, differentiable=False)
def assign_add(variable: Tensor, value: Tensor | float) -> Tensor:
    """Add a value of the same shape to a Parameter or Tensor in place."""
    with torch.no_grad():
        return variable.add_(_check_summand(variable, value, "AssignAdd"))


@op("ops", dtype=SAME, differentiable=False)
def assign_sub(variable: Tensor, value: Tensor | float) -> Tensor:
    """Subtract a value of the same shape from a Parameter or Tensor in place."""
    with torch.no_grad():
        return variable.sub_(_check_summand(variable, value, "AssignSub"))


@op("Tensor", dtype=SAME, differentiable=False)
def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Copy `src` into the tensor in place; `src` is broadcast to its shape."""
    with torch.no_grad():
        return input.copy_(src, non_blocking)


@op("Tensor", dtype=SAME, differentiable=False)
def fill_(input: Tensor, value: Tensor | float) -> Tensor:
    """Fill the tensor with one value in place."""
    with torch.no_grad():
        return input.fill_(value)


@op("ops", "Tensor", dtype=SAME, differentiable=False)
def zero_(input: Tensor) -> Tensor:
    """Fill the tensor with zeros in place."""
    with torch.no_grad():
        return input.zero_()


@op("Tensor", dtype=SAME, differentiable=False)
def fill_diagonal_(input: Tensor, fill_value: float, wrap: bool = False) -> Tensor:
    """Fill the main diagonal with one value in place. With `wrap`, the diagonal of a tall matrix is repeated after
    each block of columns.
    """
    with torch.no_grad():
        return input.fill_diagonal_(fill_value, wrap)


Assign = primitive("Assign", assign, init=())
AssignAdd = primitive("AssignAdd", assign_add, init=())
AssignSub = primitive("AssignSub", assign_sub, init=())


@public("ops")
class CopyWithSlice(Primitive):
    """Copy a tensor into another in place, and return the target.

    >>> from millrace import Tensor
    >>> target = Tensor([1.0, 2.0])
    >>> CopyWithSlice()(target, Tensor([3.0, 4.0])).asnumpy().tolist(), target.asnumpy().tolist()
    ([3.0, 4.0], [3.0, 4.0])
    """

    def __init__(self) -> None:
        super().__init__("CopyWithSlice")

    def __call__(self, x: MillraceTensor, y: MillraceTensor) -> MillraceTensor:
        x._torch.copy_(y._torch)
        return x

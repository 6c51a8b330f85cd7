"""Tensor attributes as operations: shape, size, rank, stride, dtype predicates."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import INT64, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH

__all__ = [
    "DType",
    "DynamicShape",
    "Rank",
    "Shape",
    "Size",
    "TensorShape",
    "dim",
    "dtype",
    "dyn_shape",
    "dyn_shape_in",
    "is_complex",
    "is_contiguous",
    "is_floating_point",
    "is_nonzero",
    "is_signed",
    "is_tensor",
    "isconstant",
    "numel",
    "rank",
    "shape",
    "size",
    "storage_offset",
    "stride",
]


@op("ops", "ops:shape_", dtype=UNCHECKED, differentiable=False)
def shape(input_x: Tensor) -> Any:
    """The length of each axis, as a tuple."""
    return tuple(input_x.shape)


@op("ops", dtype=INT64, differentiable=False)
def dyn_shape(input_x: Tensor) -> Tensor:
    """The length of each axis, as a tensor."""
    return torch.tensor(tuple(input_x.shape), dtype=torch.int64, device=input_x.device)


@op(dtype=UNCHECKED, differentiable=False)
def dyn_shape_in(input_x: Tensor, dtype: Any = 9) -> Tensor:
    """The length of each axis, as a tensor; `dtype` 9 is MindSpore's number of int64."""
    kind = dtype if isinstance(dtype, torch.dtype) else torch.int64
    return torch.tensor(tuple(input_x.shape), dtype=kind, device=input_x.device)


@op("ops", dtype=UNCHECKED, differentiable=False)
def dtype(x: Tensor) -> mstype.DType:
    """The element type."""
    return DTYPES_FROM_TORCH[x.dtype]


@op("ops", dtype=UNCHECKED, differentiable=False)
def size(input_x: Tensor) -> int:
    """The number of elements."""
    return input_x.numel()


@op("ops", dtype=UNCHECKED, differentiable=False)
def rank(input_x: Tensor) -> int:
    """The number of axes."""
    return input_x.ndim


@op("ops:numel", "Tensor:numel", "Tensor:nelement", dtype=UNCHECKED, differentiable=False)
def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


@op("Tensor", "Tensor:ndimension", dtype=UNCHECKED, differentiable=False)
def dim(input: Tensor) -> int:
    """The number of axes."""
    return input.ndim


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """The elements from one to the next along each axis, or along one."""
    return list(input.stride()) if dim is None else input.stride(to_int(dim, "dim"))


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def storage_offset(input: Tensor) -> int:
    """The elements in memory before the first of this tensor."""
    return int(input.storage_offset())


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def is_contiguous(input: Tensor) -> bool:
    """Whether the elements lie one after the other in memory."""
    return input.is_contiguous()


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def is_signed(input: Tensor) -> bool:
    """Whether the element type has negative numbers."""
    return input.is_signed()


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the element type is a floating one."""
    return input.is_floating_point()


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def is_complex(input: Tensor) -> bool:
    """Whether the element type is a complex one."""
    return input.is_complex()


@op("ops", dtype=UNCHECKED, differentiable=False)
def is_tensor(obj: Any) -> bool:
    """Whether a value is a tensor."""
    return isinstance(obj, Tensor)


@op("ops", dtype=UNCHECKED, differentiable=False)
def isconstant(x: Any) -> bool:
    """Whether a value is known when a graph is made; here every value is."""
    return True


@op("ops", dtype=UNCHECKED, differentiable=False)
def is_nonzero(input: Tensor) -> Any:
    """Whether the only element is not zero, as a Python value."""
    if input.numel() != 1:
        raise ArgumentValueError(f"For is_nonzero, the numel of input must be 1, but got {input.numel()}.")
    return bool(input.item())


Shape = primitive("Shape", shape, init=())


TensorShape = primitive("TensorShape", dyn_shape, init=())


DynamicShape = primitive("DynamicShape", dyn_shape_in, init=("dtype",))


DType = primitive("DType", dtype, init=())


Size = primitive("Size", size, init=())


Rank = primitive("Rank", rank, init=())

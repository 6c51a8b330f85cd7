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
    """Shape of the tensor, as a tuple of ints."""
    return tuple(input_x.shape)


@op("ops", dtype=INT64, differentiable=False)
def dyn_shape(input_x: Tensor) -> Tensor:
    """Shape of the tensor, as an int64 tensor."""
    return torch.tensor(tuple(input_x.shape), dtype=torch.int64, device=input_x.device)


@op(dtype=UNCHECKED, differentiable=False)
def dyn_shape_in(input_x: Tensor, dtype: Any = 9) -> Tensor:
    """Shape of the tensor, as a tensor; `dtype` 9 is MindSpore's number of int64."""
    result_dtype = dtype if isinstance(dtype, torch.dtype) else torch.int64
    return torch.tensor(tuple(input_x.shape), dtype=result_dtype, device=input_x.device)


@op("ops", dtype=UNCHECKED, differentiable=False)
def dtype(x: Tensor) -> mstype.DType:
    """Data type of the elements."""
    return DTYPES_FROM_TORCH[x.dtype]


@op("ops", dtype=UNCHECKED, differentiable=False)
def size(input_x: Tensor) -> int:
    """Number of elements."""
    return input_x.numel()


@op("ops", dtype=UNCHECKED, differentiable=False)
def rank(input_x: Tensor) -> int:
    """Number of axes (rank)."""
    return input_x.ndim


@op("ops:numel", "Tensor:numel", "Tensor:nelement", dtype=UNCHECKED, differentiable=False)
def numel(input: Tensor) -> int:
    """Number of elements."""
    return input.numel()


@op("Tensor", "Tensor:ndimension", dtype=UNCHECKED, differentiable=False)
def dim(input: Tensor) -> int:
    """Number of axes (rank)."""
    return input.ndim


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def stride(input: Tensor, dim: int | None = None) -> Any:
    """Stride of each axis in elements, or of one axis."""
    return list(input.stride()) if dim is None else input.stride(to_int(dim, "dim"))


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def storage_offset(input: Tensor) -> int:
    """Offset of the first element in the storage, in elements."""
    return int(input.storage_offset())


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def is_contiguous(input: Tensor) -> bool:
    """Whether the elements are contiguous in memory (row-major)."""
    return input.is_contiguous()


@op("Tensor", dtype=UNCHECKED, differentiable=False)
def is_signed(input: Tensor) -> bool:
    """Whether the dtype is signed."""
    return input.is_signed()


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point type."""
    return input.is_floating_point()


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def is_complex(input: Tensor) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


@op("ops", dtype=UNCHECKED, differentiable=False)
def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


@op("ops", dtype=UNCHECKED, differentiable=False)
def isconstant(x: Any) -> bool:
    """Whether a value is known when a graph is compiled. In Millrace every value is."""
    return True


@op("ops", dtype=UNCHECKED, differentiable=False)
def is_nonzero(input: Tensor) -> Any:
    """Whether the single element of a tensor is nonzero, as a Python bool."""
    if input.numel() != 1:
        raise ArgumentValueError(f"For is_nonzero, the numel of input must be 1, but got {input.numel()}.")
    return bool(input.item())


Shape = primitive("Shape", shape, init=())
TensorShape = primitive("TensorShape", dyn_shape, init=())
DynamicShape = primitive("DynamicShape", dyn_shape_in, init=("dtype",))
DType = primitive("DType", dtype, init=())
Size = primitive("Size", size, init=())
Rank = primitive("Rank", rank, init=())

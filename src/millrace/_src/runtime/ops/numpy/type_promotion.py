"""Conversion and type promotion for NumPy's functions: operands may be numbers, lists or arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import export_names
from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.device_placement import to_context_device
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH, as_torch_tensor, to_torch_dtype

__all__ = [
    "bool_",
    "cast_result",
    "float16",
    "float32",
    "float64",
    "float_",
    "to_floating",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "resolve_dtype",
    "promote_types",
    "result_type",
    "to_array",
    "promote_arrays",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool_, int8, int16, int32, int64 = mstype.bool_, mstype.int8, mstype.int16, mstype.int32, mstype.int64
uint8, uint16, uint32, uint64 = mstype.uint8, mstype.uint16, mstype.uint32, mstype.uint64
float16, float32, float64 = mstype.float16, mstype.float32, mstype.float64
int_, float_ = int32, float32  # dtypes of Python numbers

_NARROW = {torch.int64: torch.int32, torch.float64: torch.float32}


def to_array(value: Any) -> Tensor:
    """Tensor from a tensor, a number, lists, or an array; Python numbers become int32 and float32.

    >>> to_array([1, 2]).dtype, to_array(1.5).dtype
    (torch.int32, torch.float32)
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return to_context_device(as_torch_tensor(value))
    if isinstance(value, (bool, int, float, complex)):
        tensor = torch.as_tensor(value)
    elif isinstance(value, (list, tuple)):
        if any(isinstance(part, Tensor) for part in value):
            parts = [to_array(part) for part in value]
            common_dtype = torch.result_type(parts[0], parts[-1])
            for part in parts:
                common_dtype = torch.promote_types(common_dtype, part.dtype)
            return torch.stack([part.to(common_dtype) for part in parts])
        tensor = to_context_device(as_torch_tensor(value))
    else:
        raise ArgumentTypeError(
            f"input data must be `int`, `float`, `bool`, `Tensor`, `list`, `tuple`, but got {type(value)}"
        )
    return tensor.to(_NARROW.get(tensor.dtype, tensor.dtype))


def promote_arrays(left: Any, right: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; a Python number is promoted with the other operand's dtype."""
    if isinstance(left, Tensor) and isinstance(right, (bool, int, float, complex)):
        return left, torch.as_tensor(right, dtype=torch.result_type(left, right), device=left.device)
    if isinstance(right, Tensor) and isinstance(left, (bool, int, float, complex)):
        return torch.as_tensor(left, dtype=torch.result_type(right, left), device=right.device), right
    return to_array(left), to_array(right)


def resolve_dtype(dtype: Any, default: torch.dtype | None = None) -> torch.dtype | None:
    """Dtype from any of NumPy's notations, or the default."""
    return default if dtype is None else to_torch_dtype(dtype)


def to_floating(tensor: Tensor) -> Tensor:
    """Convert bools and integers to float32; floating and complex dtypes stay."""
    return tensor if tensor.is_floating_point() or tensor.is_complex() else tensor.to(torch.float32)


def cast_result(tensor: Tensor, dtype: Any) -> Tensor:
    """Cast the result to the requested dtype, if any."""
    return tensor if dtype is None else tensor.to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def promote_types(type1: Any, type2: Any) -> mstype.DType:
    """Smallest dtype that holds the values of two dtypes."""
    return DTYPES_FROM_TORCH[torch.promote_types(to_torch_dtype(type1), to_torch_dtype(type2))]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def result_type(*arrays_and_dtypes: Any) -> mstype.DType:
    """Promoted dtype of tensors, numbers and dtypes."""
    dtypes = [
        to_torch_dtype(each) if isinstance(each, (torch.dtype, str, type)) else to_array(each).dtype
        for each in arrays_and_dtypes
    ]
    promoted = dtypes[0]
    for dtype in dtypes[1:]:
        promoted = torch.promote_types(promoted, dtype)
    return DTYPES_FROM_TORCH[promoted]


export_names(__name__, "numpy", "bool_", "int8", "int16", "int32", "int64", "int_", "float_")
export_names(__name__, "numpy", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")

"""What the operations with NumPy's names share: values that may be numbers or lists, and the names of types."""

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
int_, float_ = int32, float32  # what a Python number becomes
export_names(__name__, "numpy", "bool_", "int8", "int16", "int32", "int64", "int_", "float_")
export_names(__name__, "numpy", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")

_NARROW = {torch.int64: torch.int32, torch.float64: torch.float32}


def to_array(value: Any) -> Tensor:
    """A tensor, or one made of a number, of lists, or of an array; Python's numbers become int32 and float32.

    >>> to_array([1, 2]).dtype, to_array(1.5).dtype
    (torch.int32, torch.float32)
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return to_context_device(as_torch_tensor(value))
    if isinstance(value, (bool, int, float, complex)):
        made = torch.as_tensor(value)
    elif isinstance(value, (list, tuple)):
        if any(isinstance(part, Tensor) for part in value):
            parts = [to_array(part) for part in value]
            kind = torch.result_type(parts[0], parts[-1])
            for part in parts:
                kind = torch.promote_types(kind, part.dtype)
            return torch.stack([part.to(kind) for part in parts])
        made = to_context_device(as_torch_tensor(value))
    else:
        raise ArgumentTypeError(
            f"input data must be `int`, `float`, `bool`, `Tensor`, `list`, `tuple`, but got {type(value)}"
        )
    return made.to(_NARROW.get(made.dtype, made.dtype))


def promote_arrays(left: Any, right: Any) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; a number takes the type in which it meets the other."""
    if isinstance(left, Tensor) and isinstance(right, (bool, int, float, complex)):
        return left, torch.as_tensor(right, dtype=torch.result_type(left, right), device=left.device)
    if isinstance(right, Tensor) and isinstance(left, (bool, int, float, complex)):
        return torch.as_tensor(left, dtype=torch.result_type(right, left), device=right.device), right
    return to_array(left), to_array(right)


def resolve_dtype(dtype: Any, default: torch.dtype | None = None) -> torch.dtype | None:
    """A type given in any of NumPy's ways, or the default."""
    return default if dtype is None else to_torch_dtype(dtype)


def to_floating(made: Tensor) -> Tensor:
    """Floating and complex types stay, bool and integers become float32."""
    return made if made.is_floating_point() or made.is_complex() else made.to(torch.float32)


def cast_result(made: Tensor, dtype: Any) -> Tensor:
    """The result in the type that was asked for, if one was."""
    return made if dtype is None else made.to(to_torch_dtype(dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def promote_types(type1: Any, type2: Any) -> mstype.DType:
    """The type that holds the values of two others."""
    return DTYPES_FROM_TORCH[torch.promote_types(to_torch_dtype(type1), to_torch_dtype(type2))]


@op("numpy", dtype=UNCHECKED, differentiable=False)
def result_type(*arrays_and_dtypes: Any) -> mstype.DType:
    """The type in which tensors, numbers and types meet."""
    kinds = [
        to_torch_dtype(each) if isinstance(each, (torch.dtype, str, type)) else to_array(each).dtype
        for each in arrays_and_dtypes
    ]
    made = kinds[0]
    for kind in kinds[1:]:
        made = torch.promote_types(made, kind)
    return DTYPES_FROM_TORCH[made]

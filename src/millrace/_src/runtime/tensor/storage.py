"""Tensor storage: conversion between NumPy arrays and PyTorch tensors without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.core.values.tensor_conversion import Array, as_array

__all__ = [
    "DTYPES_FROM_TORCH",
    "TORCH_DTYPES",
    "materialize",
    "dtype_of",
    "from_array",
    "to_numpy",
    "allocate_storage",
    "to_torch_dtype",
    "unwrap",
    "unwrap_all",
    "wrap",
    "wrap_all",
]

TORCH_DTYPES: dict[DType, torch.dtype] = {
    mstype.bool_: torch.bool,
    mstype.int8: torch.int8,
    mstype.int16: torch.int16,
    mstype.int32: torch.int32,
    mstype.int64: torch.int64,
    mstype.uint8: torch.uint8,
    mstype.uint16: torch.uint16,
    mstype.uint32: torch.uint32,
    mstype.uint64: torch.uint64,
    mstype.float16: torch.float16,
    mstype.bfloat16: torch.bfloat16,
    mstype.float32: torch.float32,
    mstype.float64: torch.float64,
    mstype.complex64: torch.complex64,
    mstype.complex128: torch.complex128,
    mstype.float8_e4m3fn: torch.float8_e4m3fn,
    mstype.float8_e5m2: torch.float8_e5m2,
}
DTYPES_FROM_TORCH = {theirs: ours for ours, theirs in TORCH_DTYPES.items()}
# A generic type maps to its common dtype.
_GENERIC_DTYPES = {
    mstype.int_: torch.int64,
    mstype.uint: torch.uint64,
    mstype.float_: torch.float32,
    bool: torch.bool,
    int: torch.int64,
    float: torch.float32,
    complex: torch.complex64,
}

new_instance = object.__new__

# Called when Python reads a tensor's value: graph capture cannot follow it.
host_read_listeners: list[Callable[[str], None]] = []
# Called when an array starts to share a tensor's memory and may write to it: an asynchronous save depends on it.
shared_memory_listeners: list[Callable[[torch.Tensor], None]] = []
# Called before code runs whose operations cannot be intercepted.
opaque_call_listeners: list[Callable[[], None]] = []


def wrap(data: torch.Tensor) -> Tensor:
    """Create a Tensor from a PyTorch tensor."""
    tensor = new_instance(Tensor)
    tensor._torch = data
    return tensor


def wrap_all(value: Any) -> Any:
    """Wrap every PyTorch tensor of a nested value; named tuples become tuples."""
    if isinstance(value, torch.Tensor):
        return wrap(value)
    if isinstance(value, tuple):
        return tuple(wrap_all(part) for part in value)
    if isinstance(value, list):
        return [wrap_all(part) for part in value]
    return value


def unwrap(value: Any) -> Any:
    """The PyTorch tensor of a Tensor; other values unchanged."""
    return value._torch if isinstance(value, Tensor) else value


def unwrap_all(value: Any) -> Any:
    """Unwrap every Tensor of a nested value."""
    if isinstance(value, Tensor):
        return value._torch
    if isinstance(value, (tuple, list)):
        return type(value)(unwrap_all(part) for part in value)
    if isinstance(value, DType):
        return to_torch_dtype(value)
    return value


def to_torch_dtype(dtype: Any) -> torch.dtype:
    """PyTorch's dtype for a dtype in any of MindSpore's notations.

    >>> to_torch_dtype(mstype.float16), to_torch_dtype("int32"), to_torch_dtype(float)
    (torch.float16, torch.int32, torch.float32)
    """
    if isinstance(dtype, torch.dtype):
        return dtype
    try:
        torch_dtype = TORCH_DTYPES.get(dtype) or _GENERIC_DTYPES.get(dtype)
    except TypeError:  # not hashable
        torch_dtype = None
    if torch_dtype is None and isinstance(dtype, (str, np.dtype, type)):
        try:
            torch_dtype = TORCH_DTYPES[
                mstype._ALL.get(str(dtype)) or mstype.from_numpy(mstype.np_dtype(dtype))
            ]
        except (KeyError, TypeError):
            torch_dtype = None
    if torch_dtype is None:
        reason = (
            " (int4 is a packing of weights, not a type to compute in)" if dtype is mstype.qint4x2 else ""
        )
        raise ArgumentTypeError(f"no arithmetic with {dtype!r}{reason}; use one of {list(TORCH_DTYPES)}")
    return torch_dtype


def from_array(array: Array, dtype: DType) -> torch.Tensor:
    """Convert an array to a PyTorch tensor; memory is shared if possible."""
    if dtype is mstype.bfloat16:
        return _share_memory(array.view(np.uint16)).view(torch.bfloat16)
    if dtype not in TORCH_DTYPES:
        raise ArgumentTypeError(f"no arithmetic with {dtype!r}; convert the tensor with astype")
    if dtype in (mstype.float8_e4m3fn, mstype.float8_e5m2):
        return _share_memory(array.view(np.uint8)).view(TORCH_DTYPES[dtype])
    return _share_memory(array)


def _share_memory(array: Array) -> torch.Tensor:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    # PyTorch supports neither negative strides nor read-only memory
    if not array.flags.writeable or any(stride < 0 for stride in array.strides):
        array = array.copy()
    return torch.from_numpy(array)


def materialize(tensor: Tensor) -> torch.Tensor:
    """The PyTorch tensor of a Tensor that held an array or an initializer."""
    lazy = tensor.__dict__.get("_lazy")
    if lazy is not None:
        if min(lazy.shape, default=0) < 0:
            raise lazy.refuse()
        filled = _allocate(lazy.shape, lazy.dtype)
        tensor.init.fill(filled)
        return allocate_storage(tensor, filled)
    data = from_array(tensor._array, tensor._dtype)
    tensor._torch = data
    del tensor._array  # keep one storage: two could diverge
    return data


def allocate_storage(tensor: Tensor, data: torch.Tensor | None = None) -> torch.Tensor:
    """Allocate a tensor that held only an initializer: with these values, or uninitialized."""
    lazy = tensor.__dict__.pop("_lazy")
    if data is None:
        data = _allocate(lazy.shape, lazy.dtype)
    move = tensor.__dict__.pop("_place", None)  # moves a parameter to its device
    tensor._torch = data if move is None else move(data)
    return tensor._torch


def _allocate(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    try:
        return torch.empty(shape, dtype=dtype)
    except (RuntimeError, MemoryError) as error:
        from .error_translation import translate_error  # it imports this module

        raise translate_error(
            "Tensor", error, (), {"shape": tuple(shape), "dtype": DTYPES_FROM_TORCH[dtype]}
        ) from None


def to_numpy(tensor: Tensor) -> Array:
    """The elements as an array: shared memory on the CPU, a copy from a device."""
    for listener in host_read_listeners:
        listener("the values of a tensor")
    data = tensor._torch.detach()
    for shared_listener in shared_memory_listeners:
        shared_listener(data)
    if data.device.type != "cpu":
        data = data.cpu()
    if data.is_conj() or data.is_neg():
        data = data.resolve_conj().resolve_neg()
    if data.dtype is torch.bfloat16:
        bits = data.view(torch.uint16).numpy()
        return bits.view(mstype.np_dtype(mstype.bfloat16))
    if data.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        eight: Array = data.view(torch.uint8).numpy().view(mstype.np_dtype(DTYPES_FROM_TORCH[data.dtype]))
        return eight
    array: Array = data.numpy()
    return array


def dtype_of(tensor: Tensor) -> DType:
    """The dtype of a tensor on PyTorch."""
    return DTYPES_FROM_TORCH[tensor._torch.dtype]


def as_torch_tensor(value: Any, dtype: Any = None) -> torch.Tensor:
    """Convert any value that a Tensor can be created from to a PyTorch tensor."""
    if isinstance(value, Tensor):
        data = value._torch
    elif isinstance(value, torch.Tensor):
        data = value
    else:
        data = from_array(*as_array(value))
    return data if dtype is None else data.to(to_torch_dtype(dtype))

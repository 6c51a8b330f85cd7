"""Casting, copying and moving tensors: cast, astype, clone, contiguous, move_to."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH, to_torch_dtype

__all__ = [
    "Cast",
    "Identity",
    "MoveTo",
    "bfloat16",
    "bool_method",
    "byte",
    "cast",
    "clone",
    "contiguous",
    "deepcopy",
    "double",
    "float_method",
    "half",
    "identity",
    "int_method",
    "long",
    "move_to",
    "move_to_device",
    "short",
    "to",
    "type_as",
    "type_method",
]


def torch_type(value: Any, name: str) -> torch.dtype:
    """Check that an argument is a dtype, and return it."""
    if not isinstance(value, torch.dtype):
        raise ArgumentTypeError(
            f"For '{name}', the input 'dtype' should be mindspore dtype, but got {value!r}."
        )
    return value


@op("ops", dtype=UNCHECKED)
def cast(input: Tensor | float, dtype: Any) -> Tensor:
    """Cast the elements to `dtype`; a number becomes a 0-d tensor."""
    target_dtype = torch_type(dtype, "Cast")
    if isinstance(input, Tensor):
        return input.to(target_dtype)
    if not isinstance(input, (bool, int, float, complex)):
        raise ArgumentTypeError(f"For 'Cast', the input must be a Tensor or a number, but got {input!r}.")
    return torch.as_tensor(input).to(target_dtype)


@op("Tensor", dtype=UNCHECKED)
def to(input: Tensor, dtype: Any) -> Tensor:
    """Cast the elements to `dtype`."""
    return input.to(torch_type(dtype, "to"))


@op("ops", "Tensor", dtype=UNCHECKED)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Cast the elements to the dtype of another tensor."""
    return input.to(other.dtype)


@op("Tensor:type", dtype=UNCHECKED)
def type_method(input: Tensor, dtype: Any = None) -> Any:
    """Name of the dtype, or with an argument the tensor cast to it."""
    if dtype is None:
        return str(DTYPES_FROM_TORCH[input.dtype])
    return input.to(to_torch_dtype(dtype.lower() if isinstance(dtype, str) else dtype))


@op("Tensor", dtype=UNCHECKED)
def half(input: Tensor) -> Tensor:
    """Cast the elements to float16."""
    return input.to(torch.float16)


@op("Tensor:float", dtype=UNCHECKED)
def float_method(input: Tensor) -> Tensor:
    """Cast the elements to float32."""
    return input.to(torch.float32)


@op("Tensor", dtype=UNCHECKED)
def double(input: Tensor) -> Tensor:
    """Cast the elements to float64."""
    return input.to(torch.float64)


@op("Tensor", dtype=UNCHECKED)
def bfloat16(input: Tensor) -> Tensor:
    """Cast the elements to bfloat16."""
    return input.to(torch.bfloat16)


@op("Tensor:int", dtype=UNCHECKED)
def int_method(input: Tensor) -> Tensor:
    """Cast the elements to int32."""
    return input.to(torch.int32)


@op("Tensor", dtype=UNCHECKED)
def long(input: Tensor) -> Tensor:
    """Cast the elements to int64."""
    return input.to(torch.int64)


@op("Tensor", dtype=UNCHECKED)
def short(input: Tensor) -> Tensor:
    """Cast the elements to int16."""
    return input.to(torch.int16)


@op("Tensor", dtype=UNCHECKED)
def byte(input: Tensor) -> Tensor:
    """Cast the elements to uint8."""
    return input.to(torch.uint8)


@op("Tensor:bool", dtype=BOOL, differentiable=False)
def bool_method(input: Tensor) -> Tensor:
    """Cast the elements to bool: whether each is nonzero."""
    return input.to(torch.bool)


@op("mint", "Tensor", dtype=SAME)
def clone(input: Tensor) -> Tensor:
    """Copy of the tensor; gradients flow through it."""
    return torch.clone(input)


@op("ops", dtype=SAME)
def deepcopy(input_x: Tensor) -> Tensor:
    """Copy of the tensor with separate memory."""
    return torch.clone(input_x)


@op("ops", dtype=SAME)
def identity(x: Any) -> Any:
    """Return the tensor unchanged."""
    return x


@op("Tensor", dtype=SAME)
def contiguous(input: Tensor) -> Tensor:
    """Tensor with contiguous elements; copied only if it is not contiguous."""
    return input.contiguous()


@op("ops", "Tensor", dtype=SAME)
def move_to(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """Copy of the tensor on another device: "CPU" or "GPU"."""
    return _move(input, to, blocking)


@op(dtype=SAME)
def move_to_device(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """Copy of the tensor on another device: "CPU" or "GPU"."""
    return _move(input, to, blocking)


def _move(input: Tensor, to: str, blocking: bool) -> Tensor:
    device_types = {"CPU": "cpu", "GPU": "cuda"}
    if to not in device_types:
        raise ArgumentValueError(
            f"For 'move_to', the argument 'to' must be one of {list(device_types)}, but got {to!r}."
        )
    return input.to(device_types[to], non_blocking=not blocking)


Cast = primitive("Cast", cast, init=())
Identity = primitive("Identity", identity, init=())
MoveTo = primitive("MoveTo", move_to_device, init=())

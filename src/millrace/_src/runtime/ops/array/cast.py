"""Element types changed, and what a tensor is: its shape, type and size."""

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
    """An argument that must be an element type."""
    if not isinstance(value, torch.dtype):
        raise ArgumentTypeError(
            f"For '{name}', the input 'dtype' should be mindspore dtype, but got {value!r}."
        )
    return value


@op("ops", dtype=UNCHECKED)
def cast(input: Tensor | float, dtype: Any) -> Tensor:
    """The elements in another type; a number becomes a 0-d tensor."""
    kind = torch_type(dtype, "Cast")
    if isinstance(input, Tensor):
        return input.to(kind)
    if not isinstance(input, (bool, int, float, complex)):
        raise ArgumentTypeError(f"For 'Cast', the input must be a Tensor or a number, but got {input!r}.")
    return torch.as_tensor(input).to(kind)


@op("Tensor", dtype=UNCHECKED)
def to(input: Tensor, dtype: Any) -> Tensor:
    """The elements in another type."""
    return input.to(torch_type(dtype, "to"))


@op("ops", "Tensor", dtype=UNCHECKED)
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The elements in the type of another tensor."""
    return input.to(other.dtype)


@op("Tensor:type", dtype=UNCHECKED)
def type_method(input: Tensor, dtype: Any = None) -> Any:
    """The name of the element type, or with an argument the elements in another type."""
    if dtype is None:
        return str(DTYPES_FROM_TORCH[input.dtype])
    return input.to(to_torch_dtype(dtype.lower() if isinstance(dtype, str) else dtype))


@op("Tensor", dtype=UNCHECKED)
def half(input: Tensor) -> Tensor:
    """The elements in float16."""
    return input.to(torch.float16)


@op("Tensor:float", dtype=UNCHECKED)
def float_method(input: Tensor) -> Tensor:
    """The elements in float32."""
    return input.to(torch.float32)


@op("Tensor", dtype=UNCHECKED)
def double(input: Tensor) -> Tensor:
    """The elements in float64."""
    return input.to(torch.float64)


@op("Tensor", dtype=UNCHECKED)
def bfloat16(input: Tensor) -> Tensor:
    """The elements in bfloat16."""
    return input.to(torch.bfloat16)


@op("Tensor:int", dtype=UNCHECKED)
def int_method(input: Tensor) -> Tensor:
    """The elements in int32."""
    return input.to(torch.int32)


@op("Tensor", dtype=UNCHECKED)
def long(input: Tensor) -> Tensor:
    """The elements in int64."""
    return input.to(torch.int64)


@op("Tensor", dtype=UNCHECKED)
def short(input: Tensor) -> Tensor:
    """The elements in int16."""
    return input.to(torch.int16)


@op("Tensor", dtype=UNCHECKED)
def byte(input: Tensor) -> Tensor:
    """The elements in uint8."""
    return input.to(torch.uint8)


@op("Tensor:bool", dtype=BOOL, differentiable=False)
def bool_method(input: Tensor) -> Tensor:
    """Whether each element is not zero."""
    return input.to(torch.bool)


@op("mint", "Tensor", dtype=SAME)
def clone(input: Tensor) -> Tensor:
    """A tensor with memory of its own, which gradients flow through."""
    return torch.clone(input)


@op("ops", dtype=SAME)
def deepcopy(input_x: Tensor) -> Tensor:
    """A tensor with memory of its own."""
    return torch.clone(input_x)


@op("ops", dtype=SAME)
def identity(x: Any) -> Any:
    """The same tensor."""
    return x


@op("Tensor", dtype=SAME)
def contiguous(input: Tensor) -> Tensor:
    """The elements one after the other in memory; copied only where they are not."""
    return input.contiguous()


@op("ops", "Tensor", dtype=SAME)
def move_to(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """The tensor on another device: "CPU" or "GPU"."""
    return _moved(input, to, blocking)


@op(dtype=SAME)
def move_to_device(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """The tensor on another device: "CPU" or "GPU"."""
    return _moved(input, to, blocking)


def _moved(input: Tensor, to: str, blocking: bool) -> Tensor:
    places = {"CPU": "cpu", "GPU": "cuda"}
    if to not in places:
        raise ArgumentValueError(
            f"For 'move_to', the argument 'to' must be one of {list(places)}, but got {to!r}."
        )
    return input.to(places[to], non_blocking=not blocking)


Cast = primitive("Cast", cast, init=())
Identity = primitive("Identity", identity, init=())
MoveTo = primitive("MoveTo", move_to_device, init=())

"""Element types changed, and what a tensor is: its shape, type and size."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values import dtype as mstype
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, INT64, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.storage import DTYPES_FROM_TORCH, to_torch_dtype

__all__ = [
    "Cast",
    "DType",
    "DynamicShape",
    "Identity",
    "MoveTo",
    "Rank",
    "Shape",
    "Size",
    "TensorShape",
    "bfloat16",
    "bool_method",
    "byte",
    "cast",
    "clone",
    "contiguous",
    "deepcopy",
    "dim",
    "double",
    "dtype",
    "dyn_shape",
    "dyn_shape_in",
    "float_method",
    "half",
    "identity",
    "int_method",
    "is_complex",
    "is_contiguous",
    "is_floating_point",
    "is_nonzero",
    "is_signed",
    "is_tensor",
    "isconstant",
    "long",
    "move_to",
    "move_to_device",
    "numel",
    "rank",
    "shape",
    "short",
    "size",
    "storage_offset",
    "stride",
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


Cast = primitive("Cast", cast, init=())
Identity = primitive("Identity", identity, init=())
MoveTo = primitive("MoveTo", move_to_device, init=())
Shape = primitive("Shape", shape, init=())
TensorShape = primitive("TensorShape", dyn_shape, init=())
DynamicShape = primitive("DynamicShape", dyn_shape_in, init=("dtype",))
DType = primitive("DType", dtype, init=())
Size = primitive("Size", size, init=())
Rank = primitive("Rank", rank, init=())

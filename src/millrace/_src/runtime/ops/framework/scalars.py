"""Conversion between Python numbers, tuples and tensors: scalar_to_tensor, tuple_to_array, make_range."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.array.cast import torch_type
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "IdentityN",
    "ScalarCast",
    "ScalarToArray",
    "ScalarToTensor",
    "TensorToTuple",
    "TupleToArray",
    "identities",
    "make_range",
    "make_tuple",
    "scalar_cast",
    "scalar_to_array",
    "scalar_to_tensor",
    "shape_mul",
    "tensor_to_tuple",
    "tuple_getitem",
    "tuple_len",
    "tuple_reversed",
    "tuple_to_array",
]


def _to_number(value: Any, name: str) -> Any:
    if not isinstance(value, (bool, int, float)):
        raise ArgumentTypeError(f"For '{name}', the input must be a bool, int or float, but got {value!r}.")
    return value


@op("ops", dtype=UNCHECKED, differentiable=False)
def scalar_to_tensor(input_x: Any, dtype: Any = torch.float32) -> Tensor:
    """Number as a 0-d tensor, float32 by default."""
    return torch.tensor(_to_number(input_x, "ScalarToTensor"), dtype=torch_type(dtype, "ScalarToTensor"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def scalar_to_array(input_x: Any) -> Tensor:
    """Number as a 0-d tensor of its dtype."""
    return torch.tensor(_to_number(input_x, "ScalarToArray"))


@op("ops", dtype=UNCHECKED, differentiable=False)
def tuple_to_array(input_x: Any) -> Tensor:
    """Tuple of numbers as a tensor: int32, or float32 if the first is a float."""
    if not isinstance(input_x, (tuple, list)) or not all(isinstance(each, (int, float)) for each in input_x):
        raise ArgumentTypeError(
            f"For 'TupleToArray', the input must be a tuple of numbers, but got {input_x!r}."
        )
    if not input_x:
        raise ArgumentValueError("For 'TupleToArray', the tuple must have at least one number, but got ().")
    return torch.tensor(input_x).to(torch.int32 if isinstance(input_x[0], int) else torch.float32)


@op("ops", dtype=UNCHECKED, differentiable=False)
def scalar_cast(input_x: Any, input_y: Any) -> Any:
    """Convert a number to a Python number of another type."""
    value, target_dtype = _to_number(input_x, "ScalarCast"), torch_type(input_y, "ScalarCast")
    if target_dtype is torch.bool:
        return bool(value)
    return float(value) if target_dtype.is_floating_point else int(value)


@op("ops", dtype=UNCHECKED, differentiable=False)
def make_range(*args: Any) -> Any:
    """Integers of Python's range, as a tuple."""
    if not 1 <= len(args) <= 3 or not all(isinstance(each, int) for each in args):
        raise ArgumentTypeError(f"For 'make_range', there must be one to three ints, but got {args}.")
    return tuple(range(*args))


@op("ops", "ops:list_len", dtype=UNCHECKED, differentiable=False)
def tuple_len(input: Any) -> int:
    """Length of a tuple or list."""
    return len(input)


@op("ops", "ops:list_getitem", dtype=UNCHECKED, differentiable=False)
def tuple_getitem(input: Any, index: int) -> Any:
    """Element of a tuple or list."""
    return input[index]


@op("ops", dtype=UNCHECKED, differentiable=False)
def tuple_reversed(input: Any) -> Any:
    """Tuple in reversed order."""
    return tuple(reversed(input))


@op("ops", dtype=UNCHECKED)
def make_tuple(*args: Any) -> Any:
    """Tuple of the arguments."""
    return args


@op("ops", dtype=UNCHECKED, differentiable=False)
def shape_mul(input_data: Any) -> int:
    """Number of elements of a shape."""
    if not isinstance(input_data, tuple):
        raise ArgumentValueError(
            f"For 'shape_mul', the input must be a tuple of ints, but got {input_data!r}."
        )
    return math.prod(input_data)


@op(dtype=UNCHECKED, differentiable=False)
def tensor_to_tuple(input_x: Tensor) -> Any:
    """Elements of a vector as a tuple of Python numbers."""
    if input_x.ndim > 1:
        raise ArgumentValueError(
            f"For 'TensorToTuple', the input must be a vector, but got {input_x.ndim} axes."
        )
    return tuple(to_python_list(input_x.reshape(-1)))


@op(dtype=UNCHECKED)
def identities(x: Any) -> Any:
    """Return the tensors unchanged."""
    return tuple(x)


ScalarToTensor = primitive("ScalarToTensor", scalar_to_tensor, init=())
ScalarToArray = primitive("ScalarToArray", scalar_to_array, init=())
ScalarCast = primitive("ScalarCast", scalar_cast, init=())
TupleToArray = primitive("TupleToArray", tuple_to_array, init=())
TensorToTuple = primitive("TensorToTuple", tensor_to_tuple, init=())
IdentityN = primitive("IdentityN", identities, init=())

"""Operations on Python numbers, tuples, lists and dictionaries, and their conversion to tensors."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.array.cast import torch_type
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.primitive import Primitive, primitive
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


def _replace_item(sequence: Any, index: int, value: Any) -> Any:
    """Sequence with one element replaced."""
    parts = list(sequence)
    parts[index] = value
    return type(sequence)(parts)


def _set_item(mapping: dict[Any, Any], key: Any, value: Any) -> dict[Any, Any]:
    return {**mapping, key: value}


def _log(x: float) -> float:
    return math.log(x)


class _PythonValuePrimitive(Primitive):
    """Class form of one of these operations."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        super().__init__(name)
        self.function = function
        try:
            several = len(inspect.signature(function).parameters)
        except ValueError:  # built-in function without a signature
            several = 2
        parameter_kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        if name.startswith("scalar_"):
            self.__signature__ = inspect.Signature(
                [inspect.Parameter(one, parameter_kind) for one in "xyz"[:several]]
            )

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __reduce__(self) -> str:
        return self.name


bool_and = _PythonValuePrimitive("bool_and", lambda x, y: bool(x and y))

bool_eq = _PythonValuePrimitive("bool_eq", operator.eq)

bool_not = _PythonValuePrimitive("bool_not", operator.not_)

bool_or = _PythonValuePrimitive("bool_or", lambda x, y: bool(x or y))

dict_getitem = _PythonValuePrimitive("dict_getitem", operator.getitem)

dict_setitem = _PythonValuePrimitive("dict_setitem", _set_item)

in_dict = _PythonValuePrimitive("in_dict", lambda key, mapping: key in mapping)

is_ = _PythonValuePrimitive("is_", operator.is_)

is_not = _PythonValuePrimitive("is_not", operator.is_not)

list_equal = _PythonValuePrimitive("list_equal", operator.eq)

list_setitem = _PythonValuePrimitive("list_setitem", _replace_item)

make_dict = _PythonValuePrimitive("make_dict", lambda keys, values: dict(zip(keys, values, strict=True)))

make_list = _PythonValuePrimitive("make_list", lambda *args: list(args))

make_slice = _PythonValuePrimitive("make_slice", slice)

not_in_dict = _PythonValuePrimitive("not_in_dict", lambda key, mapping: key not in mapping)

scalar_add = _PythonValuePrimitive("scalar_add", operator.add)

scalar_div = _PythonValuePrimitive("scalar_div", operator.truediv)

scalar_eq = _PythonValuePrimitive("scalar_eq", operator.eq)

scalar_floordiv = _PythonValuePrimitive("scalar_floordiv", operator.floordiv)

scalar_ge = _PythonValuePrimitive("scalar_ge", operator.ge)

scalar_gt = _PythonValuePrimitive("scalar_gt", operator.gt)

scalar_le = _PythonValuePrimitive("scalar_le", operator.le)

scalar_log = _PythonValuePrimitive("scalar_log", _log)

scalar_lt = _PythonValuePrimitive("scalar_lt", operator.lt)

scalar_max = _PythonValuePrimitive("scalar_max", max)

scalar_min = _PythonValuePrimitive("scalar_min", min)

scalar_mod = _PythonValuePrimitive("scalar_mod", operator.mod)

scalar_mul = _PythonValuePrimitive("scalar_mul", operator.mul)

scalar_ne = _PythonValuePrimitive("scalar_ne", operator.ne)

scalar_pow = _PythonValuePrimitive("scalar_pow", operator.pow)

scalar_sub = _PythonValuePrimitive("scalar_sub", operator.sub)

scalar_uadd = _PythonValuePrimitive("scalar_uadd", operator.pos)

scalar_usub = _PythonValuePrimitive("scalar_usub", operator.neg)

string_concat = _PythonValuePrimitive("string_concat", operator.add)

string_eq = _PythonValuePrimitive("string_eq", operator.eq)

tuple_div = _PythonValuePrimitive("tuple_div", lambda x, y: tuple(a // b for a, b in zip(x, y, strict=True)))

tuple_equal = _PythonValuePrimitive("tuple_equal", operator.eq)

tuple_setitem = _PythonValuePrimitive("tuple_setitem", _replace_item)

export_names(
    __name__,
    "ops",
    "bool_and",
    "bool_eq",
    "bool_not",
    "bool_or",
    "dict_getitem",
    "dict_setitem",
    "in_dict",
    "is_",
    "is_not",
    "list_equal",
    "list_setitem",
    "make_dict",
    "make_list",
    "make_slice",
    "not_in_dict",
    "scalar_add",
    "scalar_div",
    "scalar_eq",
    "scalar_floordiv",
    "scalar_ge",
    "scalar_gt",
    "scalar_le",
    "scalar_log",
    "scalar_lt",
    "scalar_max",
    "scalar_min",
    "scalar_mod",
    "scalar_mul",
    "scalar_ne",
    "scalar_pow",
    "scalar_sub",
    "scalar_uadd",
    "scalar_usub",
    "string_concat",
    "string_eq",
    "tuple_div",
    "tuple_equal",
    "tuple_setitem",
)


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

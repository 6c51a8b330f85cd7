"""Operations on Python numbers, tuples, lists and dictionaries, which old scripts call instead of operators."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable
from typing import Any

from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = []


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

"""Argument types that many transforms share, as annotations, with MindSpore's error messages.

An annotation here is ``Annotated[Any, ArgumentRule(function)]``; the function gets the parameter's name and value.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import INT32_MAX, Range, check_type
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import DType, np_dtype

__all__ = [
    "FLOAT_MAX",
    "INT32_MIN",
    "DataType",
    "Device",
    "Factor",
    "NonNegativeInt",
    "Number",
    "Operations",
    "PositiveInt",
    "Probability",
    "ArgumentRule",
    "check_interval",
    "check_operations",
    "data_type",
    "check_each_type",
    "check_positive",
]

FLOAT_MAX = 16777216
INT32_MIN = -(2**31)


class ArgumentRule:
    """A function that raises an error for an invalid argument."""

    def __init__(self, check: Callable[[str, Any], None]) -> None:
        self.check = check


def check_interval(
    value: Any, low: float, high: float, name: str = "", *, left_open: bool = False, right_open: bool = False
) -> None:
    """Raise an error for a number outside of an interval; without a name the error begins with "Input"."""
    low_ok = value > low if left_open else value >= low
    high_ok = value < high if right_open else value <= high
    if not (low_ok and high_ok):
        left, right = "(" if left_open else "[", ")" if right_open else "]"
        called = f"{name} " if name else ""
        raise ArgumentValueError(
            f"Input {called}is not within the required interval of {left}{low}, {high}{right}."
        )


def check_order(values: Sequence[Any], low: float, high: float) -> None:
    """Raise an error unless low <= first <= second <= high."""
    if not low <= values[0] <= values[1] <= high:
        raise ArgumentValueError(f"Input is not within the required interval of [{low}, {high}].")


def check_positive(value: Any, name: str = "") -> None:
    if value <= 0:
        raise ArgumentValueError(f"Input {name + ' ' if name else ''}must be greater than 0.")


def check_each_type(values: Any, types: tuple[type, ...], name: str) -> None:
    """Raise an error unless the value is a list or tuple of these types."""
    check_type(values, (list, tuple), name)
    for i, value in enumerate(values):
        check_type(value, types, f"{name}[{i}]")


def _check_positive_int(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    check_interval(value, 1, INT32_MAX, name)


def _check_non_negative_int(name: str, value: Any) -> None:
    check_type(value, (int,), name)
    check_interval(value, 0, INT32_MAX, name)


def _check_float32(name: str, value: Any) -> None:
    check_type(value, (float, int), name)
    check_interval(value, -FLOAT_MAX, FLOAT_MAX, name)


PositiveInt = Annotated[Any, ArgumentRule(_check_positive_int)]
NonNegativeInt = Annotated[Any, ArgumentRule(_check_non_negative_int)]
Float32 = Annotated[Any, ArgumentRule(_check_float32)]
Probability = Annotated[float | int, Range(0.0, 1.0)]
Factor = Annotated[float | int, Range(0, FLOAT_MAX)]
Number = numbers.Number


def _check_device(name: str, value: Any) -> None:
    check_type(value, (str,), name)
    if value not in ("CPU", "Ascend", "GPU"):
        raise ArgumentValueError(f"Input {name} is not within the valid set of ['CPU', 'Ascend'].")
    if value == "Ascend":
        raise ArgumentValueError(
            f"Input {name} is 'Ascend', but there is no Ascend device. Use device('GPU') for the GPU that receives the "
            "batches, device('CPU'), or omit device()."
        )


Device = Annotated[Any, ArgumentRule(_check_device)]


def _check_data_type(name: str, value: Any) -> None:
    if isinstance(value, DType):
        return
    try:
        if value is not None:
            np.dtype(value)
            return
    except (TypeError, ValueError):
        pass
    raise ArgumentTypeError(
        f"Argument {name} with value {value} is not of type [{DType}, {np.dtype}], but got {type(value)}."
    )


DataType = Annotated[Any, ArgumentRule(_check_data_type)]


def data_type(value: Any) -> np.dtype[Any]:
    """The NumPy dtype of a type in any notation; text is NumPy's str."""
    if not isinstance(value, DType):
        return np.dtype(value)
    return np_dtype(value)


def check_operations(name: str, value: Any, types: tuple[type, ...] = (list,)) -> None:
    """Raise an error unless the value is a list of transforms and functions."""
    check_type(value, types, "transforms list")
    if not value:
        raise ArgumentValueError("transforms list can not be empty.")
    for i, operation in enumerate(value):
        if not callable(operation):
            raise ArgumentTypeError(
                f"transforms[{i}] is neither a transforms op (TensorOperation) nor a callable pyfunc."
            )
        if type(operation) is type:
            raise ArgumentValueError(
                f"op_list[{i}] should be a dataset processing operation instance, but got: {operation}. "
                "It may be missing parentheses for instantiation."
            )


Operations = Annotated[Any, ArgumentRule(check_operations)]

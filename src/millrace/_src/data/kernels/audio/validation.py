"""Type and shape checks of the audio kernels, with MindSpore's error messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

__all__ = [
    "check_dims",
    "check_not_empty",
    "check_floats",
    "check_numbers",
    "as_float",
    "as_float32",
    "as_float_waveform",
    "as_waveform",
]

Array = np.ndarray[Any, Any]


def check_not_empty(x: Array, op: str) -> None:
    """Raise an error for an array without elements."""
    if x.size == 0:
        raise DataError(f"{op}: Input Tensor has no data. Its shape is {_format_shape(x)}.")


def check_dims(x: Array, op: str, min_dims: int = 1, expected: str = "<..., time>") -> None:
    """Raise an error for an array of fewer dimensions than ``expected`` names."""
    if x.ndim < min_dims:
        raise DataError(
            f"{op}: the shape of input tensor does not match the requirement of operator. "
            f"Expecting tensor in shape of {expected}. But got tensor with dimension {x.ndim}."
        )


def check_numbers(x: Array, op: str, expected: str = "[int, float, double]") -> None:
    """Raise an error for text, bytes and complex numbers."""
    if x.dtype.kind not in "biuf":
        _raise_wrong_dtype(x, op, expected)


def check_floats(x: Array, op: str, expected: str = "[float, double]") -> None:
    """Raise an error for anything but floats."""
    if x.dtype.kind != "f":
        _raise_wrong_dtype(x, op, expected)


def as_float(x: Array) -> Array:
    """Convert numbers to MindSpore's float type: float64 stays, all others become float32."""
    return x if x.dtype == np.float64 else x.astype(np.float32, copy=False)


def as_float32(value: float) -> float:
    """Round a user's number to float32, as MindSpore stores it."""
    return float(np.float32(value))


def as_waveform(x: Array, op: str) -> Array:
    """Check a waveform of floats, time last."""
    check_not_empty(x, op)
    check_dims(x, op)
    check_floats(x, op)
    return x


def as_float_waveform(x: Array, op: str) -> Array:
    """Check a waveform of any numeric type, time last, and convert it to floats."""
    check_not_empty(x, op)
    check_dims(x, op)
    check_numbers(x, op)
    return as_float(x)


def _raise_wrong_dtype(x: Array, op: str, expected: str) -> None:
    got = {"U": "string", "S": "bytes"}.get(x.dtype.kind, x.dtype.name)
    raise DataError(
        f"{op}: the data type of input tensor does not match the requirement of operator. "
        f"Expecting tensor in type of {expected}. But got type {got}."
    )


def _format_shape(x: Array) -> str:
    return "<" + ",".join(map(str, x.shape)) + ">"

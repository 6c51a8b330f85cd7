"""Conversion between arrays and tensors: from Python values, common dtypes, bfloat16 bits, printing."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import ArgumentTypeError

from . import dtype as mstype
from .dtype import DType

__all__ = ["Array", "as_array", "cast", "to_storage", "to_computable", "promote", "format_elements"]

Array: TypeAlias = npt.NDArray[Any]

_SUMMARY_ABOVE = 1000
_LINE = 120

# A float beats an integer of any width, an integer beats a bool.
_RANK = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}


def as_array(value: Any) -> tuple[Array, DType]:
    """Convert a value to an array with its element type; Python floats become Float32.

    >>> as_array([1.5, 2.5])[1], as_array(np.float64(1.5))[1]
    (millrace.float32, millrace.float64)
    """
    if isinstance(value, np.ndarray):
        array = value
    elif isinstance(value, (np.generic, str, bytes)):
        array = np.asarray(value)
    elif isinstance(value, (bool, int, float, complex, list, tuple)):
        array = _from_python(value)
    elif hasattr(value, "__dlpack__"):
        array = np.from_dlpack(value)
    elif hasattr(value, "__array__"):
        array = np.asarray(value)
    else:
        raise ArgumentTypeError(
            "For 'Tensor', the type of 'input_data' should be one of '['Tensor', 'ndarray', 'str', 'list', "
            f"'tuple', 'float', 'int', 'bool', 'complex', 'bytes']', but got type '{type(value).__name__}'."
        )
    return array, mstype.from_numpy(array.dtype)


def _from_python(value: Any) -> Array:
    if isinstance(value, (list, tuple)):
        value = _unwrap_tensors(value)
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.empty((), object)
    if array.dtype.kind not in "biufcUS":
        raise ArgumentTypeError(f"For Tensor, the input_data is {value} that contain unsupported element.")
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _unwrap_tensors(values: Any) -> Any:
    """Replace tensors in nested lists by their arrays."""
    if isinstance(values, (list, tuple)):
        return [_unwrap_tensors(value) for value in values]
    host = getattr(values, "asnumpy", None)
    return values if host is None else host()


def to_computable(array: Array, dtype: DType) -> Array:
    """Convert storage to a dtype that numpy computes with: bfloat16 bits become float32 numbers.

    >>> to_computable(np.array([0x3FC0], np.uint16), mstype.bfloat16).tolist()
    [1.5]
    """
    if dtype is mstype.bfloat16 and array.dtype == np.uint16:
        return (array.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return array


def to_storage(array: Array, dtype: DType) -> Array:
    """Convert numbers to the storage of an element type; the inverse of :func:`to_computable`.

    >>> to_storage(np.array([1.7]), mstype.int8).tolist()
    [1]
    """
    if dtype is mstype.bfloat16 and dtype.numpy == np.uint16:
        values = np.asarray(array, np.float32)
        bits = values.view(np.uint32) if values.ndim else values.reshape(1).view(np.uint32).reshape(())
        # round to nearest, ties to even, as the hardware does; NaN must stay NaN
        half_way = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
        rounded = ((bits + half_way) >> np.uint32(16)).astype(np.uint16)
        return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)
    if dtype is mstype.string:
        return array if array.dtype.kind in "US" else array.astype(np.str_)
    with np.errstate(all="ignore"):
        return array.astype(mstype.np_dtype(dtype), copy=False)


def cast(array: Array, source: DType, target: DType) -> Array:
    """Convert the storage of one element type to that of another.

    >>> cast(np.array([1, 2]), mstype.int64, mstype.float32).dtype
    dtype('float32')
    """
    return array if source is target else to_storage(to_computable(array, source), target)


def promote(left: DType, right: Any) -> DType:
    """The common element type of a tensor and another type or a Python number.

    A Python number changes the type only if its family (bool, int, float, complex) ranks above that of the tensor.

    >>> promote(mstype.uint8, 300), promote(mstype.int64, 1.5), promote(mstype.int64, mstype.float16)
    (millrace.uint8, millrace.float32, millrace.float16)
    """
    if not isinstance(right, DType):
        families: list[tuple[type, DType]] = [
            (bool, mstype.bool_),
            (int, mstype.int64),
            (float, mstype.float32),
            (complex, mstype.complex64),
        ]
        right = next(dtype for family, dtype in families if isinstance(right, family))
        return right if _rank(right) > _rank(left) else left
    if left is right:
        return left
    if _rank(left) != _rank(right) and 3 not in (_rank(left), _rank(right)):
        return left if _rank(left) > _rank(right) else right
    # the common type of bfloat16 and float16 is float32, which numpy does not know
    pair = [mstype.float32 if dtype is mstype.bfloat16 else dtype for dtype in (left, right)]
    return mstype.from_numpy(np.promote_types(mstype.np_dtype(pair[0]), mstype.np_dtype(pair[1])))


def _rank(dtype: DType) -> int:
    if dtype.python is float:  # numpy does not classify bfloat16 and the 8-bit floats as numeric
        return 2
    category = mstype.np_dtype(dtype).kind
    if category not in _RANK:
        raise ArgumentTypeError(f"no arithmetic with {dtype!r}")
    return _RANK[category]


def format_elements(array: Array) -> str:
    """The elements as MindSpore prints them inside ``Tensor(...)``.

    >>> format_elements(np.array([0.5, 2], np.float32))
    '[ 5.00000000e-01,  2.00000000e+00]'
    """
    if array.size == 0:
        return ""
    if array.ndim == 0:
        value = array.item()
        if isinstance(value, float):
            return f"{value:g}"
        return f"{value:g}" if isinstance(value, complex) else repr(value)
    digits = 4 if array.dtype == np.float16 else 8
    written = np.array2string(
        array,
        separator=", ",
        threshold=_SUMMARY_ABOVE,
        edgeitems=3,
        # rows of floats are not wrapped; integers are
        max_line_width=10_000_000 if array.dtype.kind in "fc" else _LINE,
        formatter={"float_kind": lambda x: f"{x: .{digits}e}", "complex_kind": lambda x: f"{x:g}"},
    )
    if array.dtype.kind not in "US":
        written = written.replace("\n\n", "\n").replace("\n\n", "\n")
        if array.size > _SUMMARY_ABOVE:
            written = written.replace("...,", "...").replace(", ...", " ...")
    return written

"""Numeric casts with the results of MindSpore's C++ code, on every platform.

C++ does not define the result for a float out of the range of an integer; in NumPy it depends on the processor.
Here it is that of x86-64, which MindSpore's users see: the number is converted to a signed integer of 32 or 64
bits, whose lowest value stands for all values out of range (NaN and infinities too), and its low bits are kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["cast_numbers"]

Array = npt.NDArray[Any]


def cast_numbers(values: Array, dtype: npt.DTypeLike) -> Array:
    """Cast to another numeric dtype; no copy where the dtype is the same.

    >>> cast_numbers(np.array([300.7, -1.5, np.nan, 3e9]), np.uint8).tolist()
    [44, 255, 0, 0]
    >>> cast_numbers(np.array([np.nan, 3e9]), np.int32).tolist()
    [-2147483648, -2147483648]
    """
    wanted = np.dtype(dtype)
    if values.dtype.kind == "f" and wanted.kind in "iu":
        return _float_to_integer(values, wanted)
    with np.errstate(over="ignore"):
        return values.astype(wanted, copy=False)


def _float_to_integer(values: Array, wanted: np.dtype[Any]) -> Array:
    bits = 31 if wanted.itemsize < 4 or wanted == np.int32 else 63
    limit = 2.0**bits
    # usually all values are in range, and the result is the same on every platform
    most = np.inf if values.dtype == np.float16 else limit
    if bool(np.all(np.abs(values) < values.dtype.type(most))):
        return values.astype(np.int32 if bits == 31 else np.int64).astype(wanted, copy=False)
    wide = np.trunc(values.astype(np.float64))
    integers = _signed(wide, limit)
    if wanted != np.uint64:
        return integers.astype(wanted)
    # values from 2**63 on: convert the upper half separately
    upper = _signed(wide - limit, limit).astype(np.uint64) ^ np.uint64(1 << 63)
    return np.where(wide >= limit, upper, integers.astype(np.uint64))


def _signed(wide: Array, limit: float) -> Array:
    """Convert to int64, with ``-limit`` for values out of range."""
    fits = (wide >= -limit) & (wide < limit)
    return np.where(fits, np.where(fits, wide, 0).astype(np.int64), np.int64(-int(limit)))

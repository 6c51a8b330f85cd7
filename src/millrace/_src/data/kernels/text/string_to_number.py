"""Parse numbers from text like C: leading white space and text after the number are ignored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError

__all__ = ["parse_numbers"]

_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_DECIMAL = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_HEXADECIMAL = re.compile(
    r"[ \t\n\v\f\r]*([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
)
_NAN_OR_INF = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:nan|inf))", re.IGNORECASE)
FLOAT16_MAX = 65504.0


def parse_numbers(strings: Sequence[str], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """The numbers at the beginning of these texts, in order.

    >>> parse_numbers(["7", " -12", "3.9 m"], np.dtype(np.int32))
    array([  7, -12,   3], dtype=int32)
    """
    if dtype.kind in "iu":
        return _parse_integers(strings, dtype)
    return _parse_floats(strings, dtype)


def _parse_integers(strings: Sequence[str], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    info = np.iinfo(dtype)
    joined = "".join(strings)
    # int() accepts more than C does: digits of other scripts, underscores; and -0 for an unsigned type
    if joined.isascii() and "_" not in joined and (dtype.kind == "i" or "-" not in joined):
        try:
            numbers = list(map(int, strings))
        except ValueError:
            pass
        else:
            if not numbers or (info.min <= min(numbers) and max(numbers) <= info.max):
                return np.array(numbers, dtype)
    return np.array([_parse_integer(text, dtype, info) for text in strings], dtype)


def _parse_integer(text: str, dtype: np.dtype[Any], info: Any) -> int:
    match = _INTEGER.match(text)
    if match is None:
        what = "an unsigned integer" if dtype.kind == "u" else "a number"
        it = "It" if dtype.kind == "u" else "it"
        raise DataError(f'ToNumber: {it} is invalid to convert "{text}" to {what}.')
    digits = match[1]
    # more digits than any type can hold, or than Python's int() parses, are out of range too
    number = int(digits) if len(digits) < 40 else int(digits[:1] + "1" * 39) if digits[0] in "+-" else 10**39
    if not info.min <= number <= info.max or (dtype.kind == "u" and digits[0] == "-"):
        raise _out_of_range_error(text, dtype, info.min, info.max)
    return number


def _parse_floats(strings: Sequence[str], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    # float16 is parsed as float32, as in MindSpore
    compute_dtype = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    numbers = _parse_floats_at_once(strings, compute_dtype)
    if numbers is None:
        numbers = np.array([_parse_float(text, dtype, compute_dtype) for text in strings], compute_dtype)
    if dtype == np.float16:
        outside = np.abs(numbers) > FLOAT16_MAX
        if outside.any():
            first = float(numbers[outside][0])
            raise DataError(
                f"ToFloat16: value {first:f}in input data is outside of valid float16 range "
                f"[{FLOAT16_MAX:f}, {-FLOAT16_MAX:f}]."
            )
    return numbers.astype(dtype, copy=False)


def _parse_floats_at_once(strings: Sequence[str], compute_dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Parse all texts at once; None where a number is out of range or float() differs from C."""
    joined = "".join(strings)
    if not joined.isascii() or "_" in joined:
        return None
    try:
        numbers = np.array(list(map(float, strings)), np.float64)
    except ValueError:
        return None
    with np.errstate(over="ignore", under="ignore"):
        rounded = numbers.astype(compute_dtype, copy=False)
    size = np.abs(rounded)
    # a zero may be an underflow
    if (
        not np.isnan(rounded).any()
        and (size <= np.finfo(compute_dtype).max).all()
        and (size >= np.finfo(compute_dtype).tiny).all()
    ):
        return rounded
    return None


def _parse_float(text: str, dtype: np.dtype[Any], compute_dtype: np.dtype[Any]) -> float:
    match = _NAN_OR_INF.match(text)
    if match is not None and match[1][-1] in "nN":
        return float("nan")
    info = np.finfo(compute_dtype)
    number, is_zero = (float("inf"), False) if match is not None else _parse_literal(text)
    with np.errstate(over="ignore", under="ignore"):
        rounded = float(np.asarray(number, compute_dtype))
    if not abs(rounded) <= info.max or (abs(rounded) < info.tiny and not is_zero):
        raise _out_of_range_error(text, dtype, float(info.min), float(info.max))
    return rounded


def _parse_literal(text: str) -> tuple[float, bool]:
    """The number, and whether it is written as zero."""
    for pattern, read, exponent in ((_HEXADECIMAL, float.fromhex, "p"), (_DECIMAL, float, "e")):
        match = pattern.match(text)
        if match is not None:
            digits = match[1].lower().partition(exponent)[0].lstrip("+-").removeprefix("0x")
            try:
                return read(match[1]), not digits.strip("0.")
            except OverflowError:
                return float("inf"), False
    raise DataError(f'ToNumber: it is invalid to convert "{text}" to a number.')


def _out_of_range_error(text: str, dtype: np.dtype[Any], low: float, high: float) -> DataError:
    shown = f"[{low}, {high}]" if dtype.kind in "iu" else f"[{low:f}, {high:f}]"
    return DataError(
        f"ToNumber: string input {text} will be out of bounds if cast to {dtype.name}. The valid range is: {shown}."
    )

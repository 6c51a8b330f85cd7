"""Numbers from text, read as C does: leading white space is skipped, and what follows the number is left out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError

__all__ = ["numbers_of"]

_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_DECIMAL = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_HEXADECIMAL = re.compile(
    r"[ \t\n\v\f\r]*([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?)"
)
_NAMED = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:nan|inf))", re.IGNORECASE)
FLOAT16_MAX = 65504.0


def numbers_of(strings: Sequence[str], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """The numbers that these texts begin with, in order.

    >>> numbers_of(["7", " -12", "3.9 m"], np.dtype(np.int32))
    array([  7, -12,   3], dtype=int32)
    """
    if kind.kind in "iu":
        return _integers(strings, kind)
    return _floats(strings, kind)


def _integers(strings: Sequence[str], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    info = np.iinfo(kind)
    joined = "".join(strings)
    # int() takes more than C does: digits of other scripts, underscores; and -0 for a number without a sign
    if joined.isascii() and "_" not in joined and (kind.kind == "i" or "-" not in joined):
        try:
            numbers = list(map(int, strings))
        except ValueError:
            pass
        else:
            if not numbers or (info.min <= min(numbers) and max(numbers) <= info.max):
                return np.array(numbers, kind)
    return np.array([_integer(text, kind, info) for text in strings], kind)


def _integer(text: str, kind: np.dtype[Any], info: Any) -> int:
    found = _INTEGER.match(text)
    if found is None:
        what = "an unsigned integer" if kind.kind == "u" else "a number"
        it = "It" if kind.kind == "u" else "it"
        raise DataError(f'ToNumber: {it} is invalid to convert "{text}" to {what}.')
    digits = found[1]
    # more digits than any type has, and Python's limit on what int() reads, are out of range too
    number = int(digits) if len(digits) < 40 else int(digits[:1] + "1" * 39) if digits[0] in "+-" else 10**39
    if not info.min <= number <= info.max or (kind.kind == "u" and digits[0] == "-"):
        raise _out_of_range(text, kind, info.min, info.max)
    return number


def _floats(strings: Sequence[str], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    # float16 is read as float32, as MindSpore does
    wide = np.dtype(np.float64 if kind == np.float64 else np.float32)
    made = _plain_floats(strings, wide)
    if made is None:
        made = np.array([_float(text, kind, wide) for text in strings], wide)
    if kind == np.float16:
        outside = np.abs(made) > FLOAT16_MAX
        if outside.any():
            first = float(made[outside][0])
            raise DataError(
                f"ToFloat16: value {first:f}in input data is outside of valid float16 range "
                f"[{FLOAT16_MAX:f}, {-FLOAT16_MAX:f}]."
            )
    return made.astype(kind, copy=False)


def _plain_floats(strings: Sequence[str], wide: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """All at once, where none is out of range and float() reads what C does."""
    joined = "".join(strings)
    if not joined.isascii() or "_" in joined:
        return None
    try:
        numbers = np.array(list(map(float, strings)), np.float64)
    except ValueError:
        return None
    with np.errstate(over="ignore", under="ignore"):
        made = numbers.astype(wide, copy=False)
    size = np.abs(made)
    # a zero may be too small a number
    if (
        not np.isnan(made).any()
        and (size <= np.finfo(wide).max).all()
        and (size >= np.finfo(wide).tiny).all()
    ):
        return made
    return None


def _float(text: str, kind: np.dtype[Any], wide: np.dtype[Any]) -> float:
    named = _NAMED.match(text)
    if named is not None and named[1][-1] in "nN":
        return float("nan")
    info = np.finfo(wide)
    number, is_zero = (float("inf"), False) if named is not None else _read(text)
    with np.errstate(over="ignore", under="ignore"):
        made = float(np.asarray(number, wide))
    if not abs(made) <= info.max or (abs(made) < info.tiny and not is_zero):
        raise _out_of_range(text, kind, float(info.min), float(info.max))
    return made


def _read(text: str) -> tuple[float, bool]:
    """The number, and whether it is written as zero."""
    for pattern, read, exponent in ((_HEXADECIMAL, float.fromhex, "p"), (_DECIMAL, float, "e")):
        found = pattern.match(text)
        if found is not None:
            digits = found[1].lower().partition(exponent)[0].lstrip("+-").removeprefix("0x")
            try:
                return read(found[1]), not digits.strip("0.")
            except OverflowError:
                return float("inf"), False
    raise DataError(f'ToNumber: it is invalid to convert "{text}" to a number.')


def _out_of_range(text: str, kind: np.dtype[Any], low: float, high: float) -> DataError:
    shown = f"[{low}, {high}]" if kind.kind in "iu" else f"[{low:f}, {high:f}]"
    return DataError(
        f"ToNumber: string input {text} will be out of bounds if cast to {kind.name}. The valid range is: {shown}."
    )

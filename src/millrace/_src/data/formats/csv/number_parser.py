"""Vectorized parsing of integers and decimals from text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["parse_plain_floats", "parse_plain_ints"]

COMMA, MINUS, DOT = 44, 45, 46
# Digits that always fit an int64, and digits that a double represents exactly.
MAX_INT_DIGITS, MAX_FLOAT_DIGITS = 18, 15

_INT = np.zeros(256, bool)
_INT[[*range(48, 58), COMMA, MINUS]] = True
_FLOAT = _INT.copy()
_FLOAT[DOT] = True


def _count_digits(
    raw: npt.NDArray[np.uint8], dots: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64] | int] | None:
    """Number of digits and of fractional digits of each number; None if one is not a plain number."""
    if not bool((_FLOAT if dots else _INT)[raw].all()):
        return None
    ends = np.append(np.flatnonzero(raw == COMMA), len(raw))
    starts = np.concatenate(([0], ends[:-1] + 1))
    counts = ends - starts
    if not counts.all():
        return None
    minus = raw[starts] == MINUS
    if np.count_nonzero(raw == MINUS) != np.count_nonzero(minus):
        return None
    counts -= minus
    points = np.flatnonzero(raw == DOT) if dots else ends[:0]
    if not len(points):
        return counts, 0
    number_index = np.arange(len(ends)) if len(points) == len(ends) else np.searchsorted(ends, points)
    decimals = np.zeros(len(ends), np.int64)
    decimals[number_index] = ends[number_index] - points - 1
    # exactly one dot in each of these numbers, inside the number
    if not bool(((decimals[number_index] >= 0) & (points >= starts[number_index])).all()):
        return None
    if len(points) != len(ends) and bool((number_index[1:] == number_index[:-1]).any()):
        return None
    counts[number_index] -= 1
    return counts, decimals


def parse_plain_ints(texts: list[str]) -> npt.NDArray[np.int64] | None:
    """Parse integers; None unless each consists of digits with an optional minus sign.

    >>> parse_plain_ints(["12", "-3"]).tolist(), parse_plain_ints(["1", " 2"])
    ([12, -3], None)
    """
    joined = ",".join(texts)
    counts = _count_digits(np.frombuffer(joined.encode(), np.uint8), dots=False)
    if (
        counts is None
        or len(counts[0]) != len(texts)
        or not 0 < counts[0].min() <= counts[0].max() <= MAX_INT_DIGITS
    ):
        return None
    return np.fromstring(joined, np.int64, sep=",")


def parse_plain_floats(texts: list[str]) -> npt.NDArray[np.float64] | None:
    """Parse decimal numbers; the result is rounded exactly as by ``float()``.

    Each value is an exact integer divided by an exact power of ten.

    >>> parse_plain_floats(["1.5", "-.25", "3"]).tolist(), parse_plain_floats(["1e3"])
    ([1.5, -0.25, 3.0], None)
    """
    joined = ",".join(texts)
    counts = _count_digits(np.frombuffer(joined.encode(), np.uint8), dots=True)
    if (
        counts is None
        or len(counts[0]) != len(texts)
        or not 0 < counts[0].min() <= counts[0].max() <= MAX_FLOAT_DIGITS
    ):
        return None
    integers = np.fromstring(joined.replace(".", ""), np.int64, sep=",")
    if "-" in joined and not bool(integers.all()):
        return None  # a negative zero would lose its sign
    return integers / np.power(10.0, counts[1])

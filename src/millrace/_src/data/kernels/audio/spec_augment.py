"""Bands of a spectrogram, <..., freq, time>, covered with one value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .validation import check_dims, check_filled, check_numbers, floating

__all__ = ["check_longest", "check_spectrogram", "apply_mask", "apply_masks", "mask_axis", "mask_span"]

Array = np.ndarray[Any, Any]


def check_spectrogram(x: Array, op: str) -> None:
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)


def check_longest(x: Array, longest: int, axis: int, words: str) -> None:
    """Refuse a mask that may be longer than the axis it lies on; ``words`` say so, with the lengths in braces."""
    length = x.shape[axis]
    if longest > length:
        raise DataError(words.format(longest=longest, length=length))


def mask_axis(x: Array, start: int, width: int, value: float, axis: int) -> Array:
    """A copy with ``width`` frequencies (axis -2) or times (axis -1) covered, beginning at ``start``."""
    length = x.shape[axis]
    if width and start + width > length:
        if start > length:
            raise DataError(_OUTSIDE.format(start=start, length=length))
        raise DataError(
            "MaskAlongAxis: invalid parameter, the sum of 'mask_start' and 'mask_width' should be no more than the "
            f"length of the masked dimension, but got: 'mask_start' {start}, 'mask_width' {width} and length {length}"
        )
    return apply_mask(x, start, width, value, axis)


_OUTSIDE = (
    "MaskAlongAxis: invalid parameter, 'mask_start' should be less than the length of the masked dimension, but got: "
    "'mask_start' {start} and length {length}"
)


def mask_span(length: int, longest: int, shares: Sequence[float]) -> tuple[int, int]:
    """(start, width) of a band, from two numbers in [0, 1)."""
    width = min(int(shares[0] * (longest + 1)), longest)
    room = length - width
    return min(int(shares[1] * (room + 1)), room), width


def apply_mask(x: Array, start: int, width: int, value: float, axis: int) -> Array:
    """A copy with a band covered."""
    made = _copy(x)
    _cover(made, start, width, value, axis)
    return made


def apply_masks(xs: Array, longest: int, shares: Sequence[Sequence[float]], value: float, axis: int) -> Array:
    """A copy of a column, with a band of its own in each row."""
    made = _copy(xs)
    for one, drawn in zip(made, shares, strict=True):
        _cover(one, *mask_span(xs.shape[axis], longest, drawn), value, axis)
    return made


def _copy(x: Array) -> Array:
    made = floating(x)
    return made.copy() if made is x else made


def _cover(made: Array, start: int, width: int, value: float, axis: int) -> None:
    band = slice(start, start + width)
    if axis == -1:
        made[..., band] = value
    else:
        made[..., band, :] = value

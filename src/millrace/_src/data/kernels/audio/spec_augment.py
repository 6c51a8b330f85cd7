"""SpecAugment: masks on spectrograms <..., freq, time>."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .validation import as_float, check_dims, check_not_empty, check_numbers

__all__ = ["check_mask_width", "check_spectrogram", "apply_mask", "apply_masks", "mask_axis", "mask_span"]

Array = np.ndarray[Any, Any]


def check_spectrogram(x: Array, op: str) -> None:
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)


def check_mask_width(x: Array, max_width: int, axis: int, message: str) -> None:
    """Raise an error if a mask may be longer than its axis; ``message`` has the lengths in braces."""
    length = x.shape[axis]
    if max_width > length:
        raise DataError(message.format(longest=max_width, length=length))


def mask_axis(x: Array, start: int, width: int, value: float, axis: int) -> Array:
    """Copy a spectrogram and mask ``width`` frequencies (axis -2) or time steps (axis -1) from ``start`` on."""
    length = x.shape[axis]
    if width and start + width > length:
        if start > length:
            raise DataError(_START_OUT_OF_RANGE.format(start=start, length=length))
        raise DataError(
            "MaskAlongAxis: invalid parameter, the sum of 'mask_start' and 'mask_width' should be no more than the "
            f"length of the masked dimension, but got: 'mask_start' {start}, 'mask_width' {width} and length {length}"
        )
    return apply_mask(x, start, width, value, axis)


_START_OUT_OF_RANGE = (
    "MaskAlongAxis: invalid parameter, 'mask_start' should be less than the length of the masked dimension, but got: "
    "'mask_start' {start} and length {length}"
)


def mask_span(length: int, max_width: int, units: Sequence[float]) -> tuple[int, int]:
    """(start, width) of a mask, from two random numbers in [0, 1)."""
    width = min(int(units[0] * (max_width + 1)), max_width)
    max_start = length - width
    return min(int(units[1] * (max_start + 1)), max_start), width


def apply_mask(x: Array, start: int, width: int, value: float, axis: int) -> Array:
    """Copy a spectrogram and mask one band."""
    masked = _copy_as_float(x)
    _fill_band(masked, start, width, value, axis)
    return masked


def apply_masks(
    xs: Array, max_width: int, units: Sequence[Sequence[float]], value: float, axis: int
) -> Array:
    """Copy a batch of spectrograms and mask a separate band in each row."""
    masked = _copy_as_float(xs)
    for row, row_units in zip(masked, units, strict=True):
        _fill_band(row, *mask_span(xs.shape[axis], max_width, row_units), value, axis)
    return masked


def _copy_as_float(x: Array) -> Array:
    spectrogram = as_float(x)
    return spectrogram.copy() if spectrogram is x else spectrogram


def _fill_band(spectrogram: Array, start: int, width: int, value: float, axis: int) -> None:
    band = slice(start, start + width)
    if axis == -1:
        spectrogram[..., band] = value
    else:
        spectrogram[..., band, :] = value

"""Kernels for whole columns of small images: a row of a kilobyte costs less to compute than to call for.

Each function takes an array whose first axis is the row, and gives the result of the function of the same name for
every row, bit for bit. The result is None where the rows are large or of an unsupported form; the caller then computes
row by row.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import normalize as layout
from .geometry import flip as flip_image
from .lazy_imports import cv2
from .validation import Array

__all__ = ["flip", "hwc_to_chw", "invert", "normalize", "rescale", "to_tensor"]

# A larger row fills the processor's cache by itself, and is better written directly into its batch.
MAX_ROW_BYTES = 16 << 10


def _is_image_column(xs: Array, ranks: tuple[int, ...] = (3, 4)) -> bool:
    """Whether this is a column of small images <H,W> or <H,W,C>."""
    return xs.ndim in ranks and 0 < xs.nbytes <= MAX_ROW_BYTES * len(xs) and xs.dtype.kind in "biuf"


def hwc_to_chw(xs: Array) -> Array | None:
    return np.ascontiguousarray(xs.transpose(0, 3, 1, 2)) if _is_image_column(xs, (4,)) else None


def rescale(xs: Array, factor: float, shift: float) -> Array | None:
    return layout.rescale(xs, factor, shift) if _is_image_column(xs) and factor >= 0 else None


def to_tensor(xs: Array, dtype: np.dtype[Any]) -> Array | None:
    if not _is_image_column(xs):
        return None
    planes = xs[:, None] if xs.ndim == 3 else np.ascontiguousarray(xs.transpose(0, 3, 1, 2))
    return layout.cast(layout.rescale(planes, 1.0 / 255.0, 0.0), dtype)


def flip(xs: Array, selected: Array | None = None, *, across: bool, op: str) -> Array | None:
    """Flip all rows, or those where ``selected`` is True."""
    if not _is_image_column(xs):
        return None
    if selected is None:
        return _flip_all(xs, across, op)
    flipped = xs.copy()
    if selected.any():
        flipped[selected] = _flip_all(xs[selected], across, op)
    return flipped


def _flip_all(xs: Array, across: bool, op: str) -> Array:
    if not across:
        return np.ascontiguousarray(xs[:, ::-1])
    # images stacked vertically form one image, whose lines are flipped in one call
    tall = flip_image(xs.reshape(-1, *xs.shape[2:]), across=True, op=op)
    return np.ascontiguousarray(tall).reshape(xs.shape)


def invert(xs: Array) -> Array | None:
    usual = _is_image_column(xs, (4,)) and xs.shape[3] == 3 and xs.dtype == np.uint8
    return np.bitwise_not(xs) if usual else None


def normalize(xs: Array, mean: layout.Numbers, std: layout.Numbers) -> Array | None:
    """Normalize images <H,W> and <H,W,C>."""
    if not _is_image_column(xs):
        return None
    channels = 1 if xs.ndim == 3 else xs.shape[3]
    if len(mean) not in (1, channels):
        return None
    if xs.dtype != np.uint8 or channels not in (1, 3, 4):
        return layout.normalize(xs.reshape(*xs.shape[:3], channels), mean, std, True).reshape(xs.shape)
    if len(mean) < channels:
        mean, std = mean * channels, std * channels
    table = layout.normalization_table(mean, std)
    if channels == 1:
        return cv2.LUT(np.ascontiguousarray(xs).reshape(len(xs), -1), table[0]).reshape(xs.shape)
    tall = np.ascontiguousarray(xs).reshape(-1, *xs.shape[2:])
    return cv2.LUT(tall, np.ascontiguousarray(table.T)[None]).reshape(xs.shape)

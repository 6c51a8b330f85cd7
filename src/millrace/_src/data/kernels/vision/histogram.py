"""Histogram equalization and automatic contrast."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .lazy_imports import ImageOps, cv2
from .validation import Array, check_image, describe, is_pil

__all__ = ["auto_contrast", "equalize"]


def _map_channels(op: str, x: Array, adjust: Any) -> Array:
    check_image(op, x, channels=(1, 3))
    planes = x[:, :, None] if x.ndim == 2 else x
    if planes.dtype == np.bool_:
        planes = planes.view(np.uint8)
    if planes.dtype != np.uint8:
        raise DataError(f"{op}: input image is not in type of uint8, but got {describe(x)}.")
    adjusted = np.empty(planes.shape, np.uint8)
    for c in range(planes.shape[2]):
        adjusted[:, :, c] = adjust(np.ascontiguousarray(planes[:, :, c]))
    return adjusted.reshape(x.shape)


def equalize(x: Any, op: str = "Equalize") -> Any:
    """Histogram equalization: each value occurs about equally often."""
    if is_pil(x):
        return ImageOps.equalize(x)
    return _map_channels(op, x, lambda plane: cv2.equalizeHist(plane))


def auto_contrast(x: Any, cutoff: float, ignore: tuple[int, ...], op: str = "AutoContrast") -> Any:
    """Stretch the darkest value to black and the lightest to white, after a cutoff in percent at both ends."""
    if is_pil(x):
        return ImageOps.autocontrast(x, cutoff, list(ignore))
    return _map_channels(op, x, lambda plane: cv2.LUT(plane, _stretch_table(plane, cutoff, ignore)))


def _stretch_table(plane: Array, cutoff: float, ignore: tuple[int, ...]) -> Array:
    counts = np.bincount(plane.ravel(), minlength=256)
    counts[list(ignore)] = 0
    if cutoff:
        cut = int(counts.sum() * cutoff // 100)
        for order in (range(256), range(255, -1, -1)):
            left = cut
            for value in order:
                taken = min(left, int(counts[value]))
                counts[value] -= taken
                left -= taken
                if left <= 0:
                    break
    used = np.flatnonzero(counts)
    if len(used) == 0 or used[-1] <= used[0]:
        return np.arange(256, dtype=np.uint8)
    low, high = int(used[0]), int(used[-1])
    scale = np.float32(255.0) / np.float32(high - low)
    values = (np.arange(256, dtype=np.float32) * scale + np.float32(-low) * scale).astype(np.int64)
    return np.clip(values, 0, 255).astype(np.uint8)

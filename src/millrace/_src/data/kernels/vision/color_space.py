"""Conversion between RGB and HSV in float64, and linear transforms of whole images."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError

from .fixed_order_linalg import multiply_vector
from .validation import Array

__all__ = ["hsv_to_rgb", "linear_transform", "rgb_to_hsv"]


def _split_channels(x: Any, is_hwc: bool) -> list[Array]:
    if not isinstance(x, np.ndarray):
        raise ArgumentTypeError(f"img should be NumPy image. Got {type(x)}")
    if x.ndim not in (3, 4):
        raise ArgumentTypeError(
            f"img shape should be (H, W, C)/(N, H, W, C)/(C ,H, W)/(N, C, H, W). Got {x.shape}."
        )
    axis = -1 if is_hwc else -3
    if x.shape[axis] != 3:
        raise ArgumentTypeError(f"img should be 3 channels RGB img. Got {x.shape[axis]} channels.")
    return [part.squeeze(axis) for part in np.split(x, 3, axis)]


def rgb_to_hsv(x: Any, is_hwc: bool) -> Array:
    """Convert RGB to HSV: hue and saturation in [0, 1], value in the units of the input."""
    r, g, b = _split_channels(x, is_hwc)
    if x.dtype.kind == "u":  # the differences below would wrap around
        r, g, b = (c.astype(np.int64) for c in (r, g, b))
    high, low = np.maximum(np.maximum(r, g), b), np.minimum(np.minimum(r, g), b)
    span = high - low
    safe = np.where(span == 0, 1, span)
    top = np.where(high == 0, 1, high)
    far_r, far_g, far_b = (high - r) / safe, (high - g) / safe, (high - b) / safe
    wide_r, wide_g, wide_b = (far.astype(np.float64) for far in (far_r, far_g, far_b))
    hue = np.where(g == high, 2.0 + wide_r - wide_b, 4.0 + wide_g - wide_r)
    hue = np.where(r == high, far_b - far_g, hue)
    hue = np.where(span == 0, 0.0, (hue / 6.0) % 1.0)
    saturation = np.where(span == 0, 0.0, span / top)
    return np.stack([part.astype(np.float64) for part in (hue, saturation, high)], -1 if is_hwc else -3)


def hsv_to_rgb(x: Any, is_hwc: bool) -> Array:
    """Convert HSV to RGB: the inverse of rgb_to_hsv."""
    h, s, v = (part.astype(np.float64) for part in _split_channels(x, is_hwc))
    sixth = np.trunc(h * 6.0)
    f = (h * 6.0) - sixth
    p, q, t = v * (1.0 - s), v * (1.0 - s * f), v * (1.0 - s * (1.0 - f))
    sector = sixth.astype(np.int64) % 6
    parts = []
    for choice in ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q)):
        parts.append(np.where(s == 0.0, v, np.choose(sector, choice)))
    return np.stack(parts, -1 if is_hwc else -3)


def linear_transform(x: Any, matrix: Array, mean: Array) -> Array:
    """Subtract the mean from all values of an image and multiply by a square matrix."""
    if not isinstance(x, np.ndarray):
        raise ArgumentTypeError(f"img should be NumPy array. Got {type(x)}")
    if x.size != matrix.shape[0]:
        raise ArgumentValueError(
            f"transformation_matrix shape {matrix.shape} not compatible with Numpy image shape {x.shape}."
        )
    return multiply_vector(x.reshape(-1) - mean, matrix).reshape(x.shape)

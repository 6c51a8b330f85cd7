"""Erase rectangles of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .validation import Array, as_array, check_image, describe

__all__ = ["cut_out", "erase"]


def erase(x: Any, top: int, left: int, height: int, width: int, value: tuple[float, ...]) -> Array:
    """Fill a rectangle of <H,W,C> with one colour; the part outside of the image is ignored."""
    x = as_array(x)
    check_image("Erase", x, ranks=(3,), channels=(3,))
    if top >= x.shape[0] or left >= x.shape[1]:
        raise DataError(f"Erase: the rectangle begins at ({top}, {left}), outside of {describe(x)}.")
    if height > x.shape[0] or width > x.shape[1]:
        raise DataError(
            f"Erase: box size is too large for image erase, got box height: {height}, box width: {width} and "
            f"{describe(x)}."
        )
    erased = x.copy()
    colour = np.array(value * 3 if len(value) == 1 else value)
    if x.dtype.kind != "f":
        colour = np.rint(colour)
    erased[top : top + height, left : left + width] = colour.astype(x.dtype)
    return erased


def cut_out(x: Any, boxes: Array, length: int, is_hwc: bool) -> Array:
    """Fill squares around the given centers (y, x) with black, clipped at the borders."""
    x = as_array(x)
    if x.ndim != 3:
        raise DataError(f"CutOut: image shape is not <H,W,C> or <C,H,W>, but got {describe(x)}.")
    erased = x.copy()
    view = erased if is_hwc else erased.transpose(1, 2, 0)
    if length > view.shape[0] or length > view.shape[1]:
        raise DataError(
            f"CutOut: box size is too large for image erase, got box height: {length}, box width: {length} and "
            f"{describe(x)}."
        )
    for y, z in boxes:
        top, left = max(0, y - length // 2), max(0, z - length // 2)
        view[top : max(top, y - length // 2 + length), left : max(left, z - length // 2 + length)] = 0
    return erased

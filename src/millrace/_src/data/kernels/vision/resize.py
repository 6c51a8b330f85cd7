"""Resize images."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError

from .enums import Inter
from .lazy_imports import Image, cv2
from .validation import (
    Array,
    check_image,
    check_pil_image,
    describe,
    is_pil,
    map_images,
    restore_channel_axis,
)

__all__ = ["cv_inter", "pil_inter", "resize", "resize_image", "target_size"]

_NOT_FOR_PIL = "Current Interpolation is not supported with PIL input."
_MAX_SCALE = 1000


def cv_inter(inter: Inter) -> int:
    """OpenCV's constant of an interpolation mode."""
    flag: int = (cv2.INTER_NEAREST, -1, cv2.INTER_LINEAR, cv2.INTER_CUBIC, cv2.INTER_AREA, -1)[inter]
    if flag == -1:
        raise ArgumentTypeError(f"Current Interpolation is not supported with NumPy input: {inter!r}.")
    return flag


def pil_inter(inter: Inter) -> Any:
    """Pillow's constant of an interpolation mode."""
    if inter in (Inter.AREA, Inter.PILCUBIC):
        raise ArgumentTypeError(_NOT_FOR_PIL)
    filters = Image.Resampling
    return (filters.NEAREST, filters.LANCZOS, filters.BILINEAR, filters.BICUBIC)[inter]


def target_size(size: int | tuple[int, int], height: int, width: int) -> tuple[int, int]:
    """(height, width) of the result; a single integer is the length of the shorter side, and the ratio is kept.

    >>> target_size(10, 20, 40), target_size((3, 4), 20, 40)
    ((10, 20), (3, 4))
    """
    if not isinstance(size, int):
        return size[0], size[1]
    if height < width:
        return size, int(np.float32(size) * (np.float32(width) / np.float32(height)))
    return int(np.float32(size) * (np.float32(height) / np.float32(width))), size


def resize(x: Any, size: int | tuple[int, int], inter: Inter, op: str = "Resize") -> Any:
    """Resize an image, every image of a batch, or a Pillow image."""
    if is_pil(x):
        return _resize_pil(x, size, inter)
    if inter == Inter.ANTIALIAS:
        check_pil_image(op, x)
    return map_images(lambda image: resize_image(image, size, inter, op), x, op)


def resize_image(x: Array, size: int | tuple[int, int], inter: Inter, op: str) -> Array:
    """Resize one image <H,W> or <H,W,C>."""
    height, width = target_size(size, x.shape[0], x.shape[1])
    if height > x.shape[0] * _MAX_SCALE or width > x.shape[1] * _MAX_SCALE:
        raise DataError(
            f"{op}: the resizing width or height is too big, it's 1000 times bigger than the original image, got "
            f"output height: {height}, width: {width}, and original image size: {x.shape[:2]}."
        )
    check_image(op, x)
    if inter == Inter.PILCUBIC:
        return pil_cubic(x, height, width, op)
    if x.shape[:2] == (height, width):
        return x
    return restore_channel_axis(_cv_resize(x, height, width, cv_inter(inter), op), x)


def _cv_resize(x: Array, height: int, width: int, inter: int, op: str) -> Array:
    if x.dtype == np.bool_:
        return cv2.resize(x.view(np.uint8), (width, height), interpolation=inter).view(np.bool_)
    if x.size == 0:
        raise DataError(f"{op}: the image is empty: {describe(x)}.")
    try:
        return cv2.resize(x, (width, height), interpolation=inter)
    except cv2.error as error:
        raise DataError(f"{op}: OpenCV cannot resize {describe(x)}: {error.err}") from error


def _resize_pil(image: Any, size: int | tuple[int, int], inter: Inter) -> Any:
    resample = pil_inter(inter)
    width, height = image.size
    if not isinstance(size, int):
        return image.resize((size[1], size[0]), resample)
    ratio = width / height
    if min(width, height) == size:
        return image
    if width < height:
        return image.resize((size, int(size / ratio)), resample)
    return image.resize((int(size * ratio), size), resample)


def pil_cubic(x: Array, height: int, width: int, op: str) -> Array:
    """Pillow's bicubic filter, horizontally and then vertically (Pillow itself picks the cheaper order)."""
    if x.ndim != 3 or x.shape[2] != 3 or x.dtype != np.uint8:
        raise DataError(
            f"{op}: Interpolation mode PILCUBIC only supports image with 3 channels of uint8, but got {describe(x)}."
        )
    across = Image.fromarray(np.ascontiguousarray(x)).resize((width, x.shape[0]), Image.Resampling.BICUBIC)
    return np.array(across.resize((width, height), Image.Resampling.BICUBIC))

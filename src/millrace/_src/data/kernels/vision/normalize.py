"""Normalize, rescale, channel order, type conversion, and conversion between arrays and Pillow images."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.values.cast import cast_numbers

from .lazy_imports import Image, cv2
from .validation import Array, as_array, check_image, describe, is_pil

__all__ = ["cast", "hwc_to_chw", "normalize", "normalize_pad", "rescale", "to_pil", "to_tensor"]

Numbers = tuple[float, ...]


def hwc_to_chw(x: Any) -> Array:
    """Transpose <H,W,C> to <C,H,W>; <H,W> is unchanged."""
    x = as_array(x)
    if x.ndim == 2:
        return x
    check_image("HWC2CHW", x)
    return np.ascontiguousarray(x.transpose(2, 0, 1))


@lru_cache(maxsize=64)
def normalization_table(mean: Numbers, std: Numbers) -> Array:
    """The normalized value for each of the 256 levels, a row per channel."""
    values = np.arange(256, dtype=np.float32)[None, :]
    return (values - np.array(mean, np.float32)[:, None]) / np.array(std, np.float32)[:, None]


def normalize(x: Any, mean: Numbers, std: Numbers, is_hwc: bool, op: str = "Normalize") -> Array:
    """(x - mean) / std for each channel, in float32.

    The result for a uint8 image <H,W,C> is stored channel by channel, so that HWC2CHW needs no copy.
    """
    x = as_array(x)
    if x.ndim < 2:
        raise DataError(
            f"{op}: input tensor should have at least 2 dimensions, but got: {x.ndim} ({describe(x)})"
        )
    if x.dtype.kind not in "biuf":
        check_image(op, x)
    axis = -1 if is_hwc else -3
    channels = 1 if x.ndim == 2 else x.shape[axis]
    if len(mean) not in (1, channels):
        raise DataError(
            f"{op}: number of channels does not match the size of mean and std vectors, got channels: {channels}, "
            f"size of mean: {len(mean)}, size of std: {len(std)}."
        )
    if len(mean) < channels:
        mean, std = mean * channels, std * channels
    if x.dtype == np.uint8 and x.ndim in (2, 3):
        return _normalize_by_table(x, normalization_table(mean, std), is_hwc)
    values = x.astype(np.float32)
    if x.ndim == 2:
        return (values - np.float32(mean[0])) / np.float32(std[0])
    shape = [1] * x.ndim
    shape[axis] = channels
    values -= np.array(mean, np.float32).reshape(shape)
    values /= np.array(std, np.float32).reshape(shape)
    return values


def _normalize_by_table(x: Array, lookup: Array, is_hwc: bool) -> Array:
    if x.ndim == 2:
        return cv2.LUT(np.ascontiguousarray(x), lookup[0])
    height, width = x.shape[:2] if is_hwc else x.shape[1:]
    planes = np.empty((len(lookup), height, width), np.float32)
    _write_planes(x, lookup, is_hwc, planes)
    return planes.transpose(1, 2, 0) if is_hwc else planes


class _PlaneBuffers(threading.local):
    """Buffer for the channels of an image, reused by the thread."""

    channels: Array = np.empty((0, 0, 0), np.uint8)


_plane_buffers = _PlaneBuffers()


def _write_planes(x: Array, lookup: Array, is_hwc: bool, planes: Array) -> None:
    if is_hwc and x.size:
        if _plane_buffers.channels.shape != planes.shape:
            _plane_buffers.channels = np.empty(planes.shape, np.uint8)
        buffer = _plane_buffers.channels
        # OpenCV accepts a part of an image without a copy
        whole_rows = x.strides[1:] == (x.shape[2], 1) and x.strides[0] >= x.shape[1] * x.shape[2]
        cv2.split(x if whole_rows else np.ascontiguousarray(x), list(buffer))
        x = buffer
    for c, part in enumerate(x):
        cv2.LUT(np.ascontiguousarray(part), lookup[c], planes[c])


def can_write_chw(x: Any, mean: Numbers) -> bool:
    """Whether ``normalize_to_chw`` supports this image."""
    usual = type(x) is np.ndarray and x.dtype == np.uint8 and x.ndim == 3
    return usual and x.shape[2] in (1, 3, 4) and len(mean) in (1, x.shape[2])


def normalize_to_chw(x: Array, mean: Numbers, std: Numbers, planes: Array) -> None:
    """Normalize an image <H,W,C> and write it to ``planes`` <C,H,W>."""
    if len(mean) < x.shape[2]:
        mean, std = mean * x.shape[2], std * x.shape[2]
    _write_planes(x, normalization_table(mean, std), True, planes)


def normalize_pad(x: Any, mean: Numbers, std: Numbers, dtype: str, is_hwc: bool) -> Array:
    """Normalize, and append one channel of zeros."""
    x = as_array(x)
    check_image("NormalizePad", x)
    normalized = normalize(x, mean, std, is_hwc, "NormalizePad")
    if normalized.ndim == 2:
        normalized = normalized[:, :, None] if is_hwc else normalized[None]
    axis = 2 if is_hwc else 0
    zeros = np.zeros_like(normalized[:, :, :1] if is_hwc else normalized[:1])
    return np.concatenate([normalized, zeros], axis).astype(dtype, copy=False)


@lru_cache(maxsize=64)
def _scale_table(factor: float, shift: float) -> Array:
    return _scale(np.arange(256, dtype=np.float64), factor, shift)


def _scale(x: Array, factor: float, shift: float) -> Array:
    """x * factor + shift, rounded once to float32."""
    scaled: Array = x.astype(np.float64) * float(np.float32(factor)) + float(np.float32(shift))
    return scaled.astype(np.float32)


def rescale(x: Any, factor: float, shift: float) -> Array:
    """x * factor + shift in float32."""
    x = as_array(x)
    if x.dtype.kind not in "biuf":
        check_image("Rescale", x, ranks=range(9))
    if x.dtype == np.uint8 and x.size > 256:
        flat = np.ascontiguousarray(x).reshape(x.shape[0], -1)
        return cv2.LUT(flat, _scale_table(factor, shift)).reshape(x.shape)
    if shift == 0 and x.dtype.itemsize < 4:
        return x.astype(np.float32) * np.float32(factor)
    return _scale(x, factor, shift)


def to_tensor(x: Any, dtype: np.dtype[Any]) -> Array:
    """Channels first, divided by 255, converted to a dtype; a Pillow image is divided in float64."""
    pixels = as_array(x)
    check_image("ToTensor", pixels)
    planes = pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))
    if is_pil(x):
        return cast(planes / 255.0, dtype)
    return cast(rescale(planes, 1.0 / 255.0, 0.0), dtype)


def cast(x: Any, dtype: np.dtype[Any]) -> Array:
    """Convert to another type like MindSpore's C++."""
    x = as_array(x)
    if dtype == x.dtype or (dtype.kind in "US" and x.dtype.kind in "US"):
        return x
    if x.dtype.kind in "US":
        raise DataError(f"TypeCast: TypeCast does not support cast from string to {dtype.name}")
    if dtype.kind in "US":
        raise DataError(f"TypeCast: TypeCast does not support cast from {x.dtype.name} to string")
    return cast_numbers(x, dtype)


_GREY_TYPES = {
    np.dtype(t) for t in ("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float32", "float64")
}


def to_pil(x: Any) -> Any:
    """Convert an array <H,W>, or <H,W,1> to <H,W,4>, to a Pillow image."""
    if is_pil(x):
        return x
    if not isinstance(x, np.ndarray):
        raise ArgumentTypeError(
            f"The input image should be of type numpy.ndarray or PIL.Image.Image. Got {type(x)}."
        )
    if x.ndim not in (2, 3):
        raise ArgumentValueError(f"The dimension of input image should be 2 or 3. Got {x.ndim}.")
    channels = 1 if x.ndim == 2 else x.shape[2]
    if channels > 4:
        raise ArgumentValueError(f"The channel of input image should not exceed 4. Got {channels}.")
    if channels == 1 and x.dtype not in _GREY_TYPES:
        raise ArgumentTypeError(
            f"The input image type {x.dtype} is not supported when image shape is [H, W] or [H, W, 1]."
        )
    if channels > 1 and x.dtype != np.uint8:
        raise ArgumentTypeError(
            f"The input image type {x.dtype} is not supported when image shape is [H, W, 2], [H, W, 3] or [H, W, 4]."
        )
    return Image.fromarray(x.reshape(x.shape[:2]) if channels == 1 else x)

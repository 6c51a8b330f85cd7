"""Window functions and signal padding."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

__all__ = ["pad_signal", "make_window"]

Array = np.ndarray[Any, Any]
# beta of the Kaiser window; MindSpore has no argument for it
_KAISER_BETA = 12.0


@functools.lru_cache(maxsize=64)
def make_window(window_type: str, length: int, n_fft: int, dtype: str) -> Array:
    """Periodic window of ``length`` values in the middle of ``n_fft`` values; read-only.

    Values have the precision of float32 in any dtype, as in MindSpore.
    """
    values = np.zeros(n_fft, np.float32)
    start = (n_fft - length) // 2
    values[start : start + length] = _window_shape(window_type, length)
    values = values.astype(dtype)
    values.flags.writeable = False
    return values


def _window_shape(window_type: str, length: int) -> Array:
    if length == 1:
        return np.ones(1)
    phase = np.arange(length) * (2 * math.pi / length)
    if window_type == "hann":
        return 0.5 - 0.5 * np.cos(phase)
    if window_type == "hamming":
        return 0.54 - 0.46 * np.cos(phase)
    if window_type == "blackman":
        return 0.42 - 0.5 * np.cos(phase) + 0.08 * np.cos(2 * phase)
    if window_type == "bartlett":
        return 1 - np.abs(np.arange(length) * (2 / length) - 1)
    kaiser: Array = np.kaiser(length + 1, _KAISER_BETA)
    return kaiser[:-1]


def pad_signal(x: Array, left: int, right: int, mode: str) -> Array:
    """Pad the last axis on both sides in a mode of BorderType."""
    if left <= 0 and right <= 0:
        return x
    length = x.shape[-1]
    if mode == "reflect" and max(left, right) >= length:
        return _reflect_repeatedly(x, left, right)
    if mode == "symmetric" and max(left, right) > length:
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, right)], "symmetric")
    padded = np.empty((*x.shape[:-1], left + length + right), x.dtype)
    end = left + length
    padded[..., left:end] = x
    if mode == "reflect":
        padded[..., :left] = x[..., 1 : left + 1][..., ::-1]
        padded[..., end:] = x[..., length - 1 - right : length - 1][..., ::-1]
    elif mode == "symmetric":
        padded[..., :left] = x[..., :left][..., ::-1]
        padded[..., end:] = x[..., length - right :][..., ::-1]
    elif mode == "edge":
        padded[..., :left] = x[..., :1]
        padded[..., end:] = x[..., -1:]
    else:
        padded[..., :left] = 0
        padded[..., end:] = 0
    return padded


def _reflect_repeatedly(x: Array, left: int, right: int) -> Array:
    """Reflect several times, for a padding longer than the signal."""
    if x.shape[-1] == 1:
        raise DataError(
            "a waveform of one sample cannot be reflected: give a longer one, or pad_mode=BorderType.EDGE."
        )
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, right)], "reflect")

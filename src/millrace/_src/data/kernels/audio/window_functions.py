"""Windows of frames and what lies beyond the ends of a signal."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

__all__ = ["pad", "window"]

Array = np.ndarray[Any, Any]
# the kaiser window's only parameter; MindSpore has no argument for it
_KAISER_BETA = 12.0


@functools.lru_cache(maxsize=64)
def window(kind: str, length: int, n_fft: int, dtype: str) -> Array:
    """A periodic window of some length in the middle of n_fft values; not to be written to.

    Its values are float32's, whatever type they have here: MindSpore computes them so.
    """
    made = np.zeros(n_fft, np.float32)
    start = (n_fft - length) // 2
    made[start : start + length] = _shape(kind, length)
    made = made.astype(dtype)
    made.flags.writeable = False
    return made


def _shape(kind: str, length: int) -> Array:
    if length == 1:
        return np.ones(1)
    turn = np.arange(length) * (2 * math.pi / length)
    if kind == "hann":
        return 0.5 - 0.5 * np.cos(turn)
    if kind == "hamming":
        return 0.54 - 0.46 * np.cos(turn)
    if kind == "blackman":
        return 0.42 - 0.5 * np.cos(turn) + 0.08 * np.cos(2 * turn)
    if kind == "bartlett":
        return 1 - np.abs(np.arange(length) * (2 / length) - 1)
    whole: Array = np.kaiser(length + 1, _KAISER_BETA)
    return whole[:-1]


def pad(x: Array, left: int, right: int, mode: str) -> Array:
    """The last axis with values before and behind it, as a BorderType says."""
    if left <= 0 and right <= 0:
        return x
    length = x.shape[-1]
    if mode == "reflect" and max(left, right) >= length:
        return _reflected(x, left, right)
    if mode == "symmetric" and max(left, right) > length:
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, right)], "symmetric")
    made = np.empty((*x.shape[:-1], left + length + right), x.dtype)
    end = left + length
    made[..., left:end] = x
    if mode == "reflect":
        made[..., :left] = x[..., 1 : left + 1][..., ::-1]
        made[..., end:] = x[..., length - 1 - right : length - 1][..., ::-1]
    elif mode == "symmetric":
        made[..., :left] = x[..., :left][..., ::-1]
        made[..., end:] = x[..., length - right :][..., ::-1]
    elif mode == "edge":
        made[..., :left] = x[..., :1]
        made[..., end:] = x[..., -1:]
    else:
        made[..., :left] = 0
        made[..., end:] = 0
    return made


def _reflected(x: Array, left: int, right: int) -> Array:
    """Reflected there and back, where there is something to reflect."""
    if x.shape[-1] == 1:
        raise DataError(
            "a waveform of one sample cannot be reflected: give a longer one, or pad_mode=BorderType.EDGE."
        )
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(left, right)], "reflect")

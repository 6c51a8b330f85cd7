"""Filter banks and cosine bases: small matrices, kept once they are made."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

__all__ = ["dct", "linear", "mel"]

Array = np.ndarray[Any, Any]


@functools.lru_cache(maxsize=32)
def mel(
    n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int, norm: str, kind: str, dtype: str
) -> Array:
    """Triangles that are even on the mel scale, (frequency, mel); not to be written to."""
    low, high = _to_mel(f_min, kind), _to_mel(f_max, kind)
    points = _to_hertz(np.linspace(low, high, n_mels + 2), kind)
    made = _triangles(n_freqs, points, sample_rate)
    if norm == "slaney":
        made *= 2.0 / (points[2:] - points[:-2])
    return _kept(made, dtype)


@functools.lru_cache(maxsize=32)
def linear(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int, dtype: str) -> Array:
    """Triangles that are even in hertz, (frequency, filter); not to be written to."""
    return _kept(_triangles(n_freqs, np.linspace(f_min, f_max, n_filter + 2), sample_rate), dtype)


@functools.lru_cache(maxsize=32)
def dct(n_mfcc: int, n_mels: int, norm: str, dtype: str) -> Array:
    """A basis of cosines, (mel, coefficient); not to be written to."""
    made = np.cos(math.pi / n_mels * np.outer(np.arange(n_mels) + 0.5, np.arange(n_mfcc)))
    if norm == "ortho":
        made[:, 0] *= 1 / math.sqrt(2)
        made *= math.sqrt(2 / n_mels)
    else:
        made *= 2
    return _kept(made, dtype)


def _triangles(n_freqs: int, points: Array, sample_rate: int) -> Array:
    frequencies = np.linspace(0, sample_rate / 2, n_freqs)
    widths = np.diff(points)
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = (frequencies[:, None] - points[:-2]) / widths[:-1]
        falling = (points[2:] - frequencies[:, None]) / widths[1:]
    return np.maximum(0.0, np.minimum(rising, falling))


# Slaney's scale: steps of 200/3 Hz up to 1000 Hz, then 27 steps to 6400 Hz
_STEP, _BREAK, _LOG_STEP = 200.0 / 3, 1000.0, math.log(6.4) / 27.0


def _to_mel(frequency: float, kind: str) -> float:
    if kind == "htk":
        return 2595.0 * math.log10(1.0 + frequency / 700.0)
    if frequency < _BREAK:
        return frequency / _STEP
    return _BREAK / _STEP + math.log(frequency / _BREAK) / _LOG_STEP


def _to_hertz(mels: Array, kind: str) -> Array:
    if kind == "htk":
        made: Array = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
        return made
    turn = _BREAK / _STEP
    return np.where(mels < turn, mels * _STEP, _BREAK * np.exp(_LOG_STEP * (np.maximum(mels, turn) - turn)))


def _kept(made: Array, dtype: str) -> Array:
    made = made.astype(np.float32).astype(dtype)
    made.flags.writeable = False
    return made

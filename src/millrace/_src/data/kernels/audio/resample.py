"""Resampling by windowed-sinc interpolation: one matrix per ratio of the sample rates."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from millrace._src.core.errors import DataError

from .window_functions import pad_signal

__all__ = ["resample"]

Array = np.ndarray[Any, Any]
# a ratio whose matrix has more elements than this is computed without the zeros
_MAX_DENSE_TAPS = 1 << 20


def resample(
    x: Array,
    old: float,
    new: float,
    method: str,
    width: int,
    rolloff: float,
    beta: float,
    op: str = "Resample",
) -> Array:
    """Resample a waveform (..., time) of floats to another sample rate."""
    common = math.gcd(int(old), int(new))
    if common == 0:
        raise DataError(f"{op}: the sample rates must be 1 or more, but got {old} and {new}.")
    ups, downs = int(new) // common, int(old) // common
    if not (ups and downs):
        raise DataError(f"{op}: the sample rates must be 1 or more, but got {old} and {new}.")
    ratio = (downs, ups, method, width, rolloff, beta, x.dtype.name)
    length = math.ceil(ups * x.shape[-1] / downs)
    return (_resample_by_matrix if ups * downs <= _MAX_DENSE_TAPS else _resample_by_taps)(x, length, ratio)


def _resample_by_matrix(x: Array, length: int, ratio: tuple[Any, ...]) -> Array:
    """Compute all phases of a segment of samples in one matrix product."""
    matrix, margin = _sinc_matrix(*ratio)
    size, ups = matrix.shape
    downs = ratio[0]
    count = -(-length // ups)
    x = pad_signal(x, margin, max((count - 1) * downs + size - margin - x.shape[-1], 0), "constant")
    step = x.strides[-1]
    frames = as_strided(
        x, (*x.shape[:-1], count, size), (*x.strides[:-1], step * downs, step), writeable=False
    )
    with np.errstate(invalid="ignore"):
        resampled = np.matmul(np.ascontiguousarray(frames), matrix)
    return resampled.reshape(*x.shape[:-1], -1)[..., :length]


def _resample_by_taps(x: Array, length: int, ratio: tuple[Any, ...]) -> Array:
    """Compute each output sample from the few input samples around it."""
    taps, margin = _sinc_taps(*ratio)
    downs, ups = ratio[:2]
    number = np.arange(length)
    starts = number * downs // ups
    x = pad_signal(x, margin, margin + 2, "constant")
    samples = x.take(starts[:, None] + np.arange(taps.shape[1]), -1)
    with np.errstate(invalid="ignore"):
        samples *= taps[number % ups]
        # not einsum: its order of adding depends on how many waveforms there are
        resampled: Array = samples.sum(-1)
    return resampled


def _windowed_sinc(t: Array, cutoff: Any, downs: int, method: str, width: int, beta: float) -> Array:
    """Weights of samples at a distance t (in periods of the old rate), in the type of t."""
    t = np.clip(t * cutoff, -width, width)
    if method == "kaiser_window":
        window = np.i0(beta * np.sqrt(1 - np.square(t / width, dtype=np.float64))) / np.i0(beta)
    else:
        window = np.square(np.cos(t * (math.pi / width / 2)))
    t = t * t.dtype.type(math.pi)
    with np.errstate(invalid="ignore"):
        sinc = np.where(t == 0, 1, np.sin(t) / t)
    kernel = (sinc * window * (cutoff / downs)).astype(t.dtype)
    kernel.flags.writeable = False
    return kernel


@functools.lru_cache(maxsize=16)
def _sinc_matrix(
    downs: int, ups: int, method: str, width: int, rolloff: float, beta: float, dtype: str
) -> tuple[Array, int]:
    """(old sample, phase), and the number of samples before the first. Computed in ``dtype``, as in MindSpore."""
    cutoff, margin = _cutoff_and_margin(downs, ups, width, rolloff)
    real = np.dtype(dtype).type
    t = np.arange(-margin, margin + downs, dtype=dtype)[:, None] / real(downs) - np.arange(
        ups, dtype=dtype
    ) / real(ups)
    return _windowed_sinc(t, real(cutoff), downs, method, width, beta), margin


@functools.lru_cache(maxsize=4)
def _sinc_taps(
    downs: int, ups: int, method: str, width: int, rolloff: float, beta: float, dtype: str
) -> tuple[Array, int]:
    """(phase, old sample around it), and the number of samples before it."""
    cutoff, margin = _cutoff_and_margin(downs, ups, width, rolloff)
    past = (
        np.arange(ups) * downs % ups / ups
    )  # fraction of a period of the old rate since the previous sample
    t = np.arange(-margin, margin + 2) / downs - (past / downs)[:, None]
    return _windowed_sinc(t, cutoff, downs, method, width, beta).astype(dtype), margin


def _cutoff_and_margin(downs: int, ups: int, width: int, rolloff: float) -> tuple[float, int]:
    """Cutoff frequency, and the number of samples that the filter needs on either side."""
    cutoff = np.float32(min(downs, ups)) * np.float32(rolloff)
    return float(cutoff), math.ceil(np.float32(width * downs) / cutoff)

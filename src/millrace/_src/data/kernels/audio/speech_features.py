"""Pitch detection and sliding-window cepstral mean normalization."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from millrace._src.core.errors import DataError

from .validation import as_float, as_waveform, check_dims, check_not_empty, check_numbers

__all__ = ["sliding_window_cmn", "pitch"]

Array = np.ndarray[Any, Any]
_EPSILON = 1e-9


def sliding_window_cmn(x: Array, width: int, min_frames: int, center: bool, variances: bool) -> Array:
    """Subtract from each frame of (..., frame, feature) the mean of a window of frames around or before it.

    With ``variances`` the result is also divided by the standard deviation in the window.
    """
    op = "SlidingWindowCmn"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    x = as_float(x)
    starts, ends = _window_bounds(x.shape[-2], width, min_frames, center)
    if (starts >= ends).any():
        raise DataError(f"{op}: invalid parameter, 'cmn_window_frames' can not be zero.")
    frames = (ends - starts)[:, None]
    sums = _cumulative_sums(x)
    means = (sums[..., ends, :] - sums[..., starts, :]) / frames
    normalized = x - means
    if variances:
        squares = _cumulative_sums(np.square(x, dtype=np.float64))
        variance = (squares[..., ends, :] - squares[..., starts, :]) / frames - np.square(means)
        with np.errstate(divide="ignore", invalid="ignore"):
            normalized = np.where(frames == 1, 0.0, normalized / np.sqrt(variance))
    return normalized.astype(x.dtype)


def _cumulative_sums(x: Array) -> Array:
    """Sums of the first 0, 1, ... frames."""
    sums = np.zeros((*x.shape[:-2], x.shape[-2] + 1, x.shape[-1]))
    np.cumsum(x, -2, dtype=np.float64, out=sums[..., 1:, :])
    return sums


def _window_bounds(count: int, width: int, min_frames: int, center: bool) -> tuple[Array, Array]:
    """Start and end of the window of each frame."""
    indices = np.arange(count)
    starts = indices - width // 2 if center else indices - width
    ends = starts + width if center else indices + 1
    ends = np.where(starts < 0, ends - starts, ends)
    starts = np.maximum(starts, 0)
    if not center:
        ends = np.where(ends > indices, np.maximum(indices + 1, min_frames), ends)
    over = np.maximum(ends - count, 0)
    return np.maximum(starts - over, 0), np.minimum(ends, count)


def pitch(x: Array, sample_rate: int, frame_time: float, width: int, low: float, high: float) -> Array:
    """Pitch of each frame in hertz, smoothed by a median over ``width`` frames."""
    op = "DetectPitchFrequency"
    x = as_waveform(x, op)
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    lags, min_lag = math.ceil(sample_rate / int(low)), math.ceil(sample_rate / int(high))
    size = math.ceil(sample_rate * frame_time)
    half_width = (width - 1) // 2
    count = -(-x.shape[-1] // size) if size > 0 else 0
    if count + half_width < width or not 0 <= min_lag < lags:
        raise DataError(
            f"{op}: {x.shape[-1]} samples make {max(count, 0)} frames, and the lags from {min_lag} to {lags} are "
            f"searched: it takes {width - half_width} frames or more, and freq_low < freq_high < sample_rate."
        )
    best_lags = _best_lags(_cross_correlation(x, lags, size, count), min_lag)
    best_lags = np.concatenate([np.repeat(best_lags[..., :1], half_width, -1), best_lags], -1)
    medians = np.sort(sliding_window_view(best_lags, width, -1), -1)[..., half_width]
    return (sample_rate / (_EPSILON + medians)).astype(np.float32)


def _cross_correlation(x: Array, lags: int, size: int, count: int) -> Array:
    """Normalized cross-correlation of each frame with the signal at each lag, (..., frame, lag)."""
    length = x.shape[-1]
    padded = np.zeros((*x.shape[:-1], count * size + lags), x.dtype)
    padded[..., :length] = x
    first = padded[..., : count * size].reshape(*x.shape[:-1], count, size)
    later = _lagged_frames(padded, lags, size, count)
    products = np.matmul(later, first[..., None])[..., 0]
    epsilon = x.dtype.type(_EPSILON)
    lag_norms = np.square(epsilon + np.sqrt(_lagged_frames(np.square(padded), lags, size, count).sum(-1)))
    frame_norms = np.square(epsilon + np.sqrt(np.square(first).sum(-1)))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        correlation: Array = products / frame_norms[..., None] / lag_norms
    return correlation


def _lagged_frames(padded: Array, lags: int, size: int, count: int) -> Array:
    """Each frame at all its lags, (..., frame, lag, sample), as a view."""
    step = padded.strides[-1]
    shape = (*padded.shape[:-1], count, lags, size)
    strides = (*padded.strides[:-1], step * size, step, step)
    return as_strided(padded[..., 1:], shape, strides, writeable=False)


def _best_lags(correlation: Array, min_lag: int) -> Array:
    """Lag with the highest correlation for each frame; a lag in the first half is preferred."""
    best, half = correlation[..., min_lag:], correlation[..., min_lag : correlation.shape[-1] // 2]
    indices = best.argmax(-1)
    if half.shape[-1]:
        indices = np.where(half.max(-1) > 0.99 * best.max(-1), half.argmax(-1), indices)
    return indices + min_lag + 1

"""What tells speech: its pitch, its mean over a window, where it begins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from millrace._src.core.errors import DataError

from .validation import as_waveform, check_dims, check_filled, check_numbers, floating

__all__ = ["sliding_window_cmn", "pitch"]

Array = np.ndarray[Any, Any]
_TINY = 1e-9


def sliding_window_cmn(x: Array, width: int, least: int, center: bool, variances: bool) -> Array:
    """Each frame of (..., frame, feature) less the mean of a window of frames around or before it.

    With ``variances`` the result is divided by the deviation in the window, too.
    """
    op = "SlidingWindowCmn"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    x = floating(x)
    starts, ends = _spans(x.shape[-2], width, least, center)
    if (starts >= ends).any():
        raise DataError(f"{op}: invalid parameter, 'cmn_window_frames' can not be zero.")
    frames = (ends - starts)[:, None]
    total = _sums(x)
    means = (total[..., ends, :] - total[..., starts, :]) / frames
    made = x - means
    if variances:
        squares = _sums(np.square(x, dtype=np.float64))
        spread = (squares[..., ends, :] - squares[..., starts, :]) / frames - np.square(means)
        with np.errstate(divide="ignore", invalid="ignore"):
            made = np.where(frames == 1, 0.0, made / np.sqrt(spread))
    return made.astype(x.dtype)


def _sums(x: Array) -> Array:
    """Sums of the first 0, 1, ... frames."""
    made = np.zeros((*x.shape[:-2], x.shape[-2] + 1, x.shape[-1]))
    np.cumsum(x, -2, dtype=np.float64, out=made[..., 1:, :])
    return made


def _spans(count: int, width: int, least: int, center: bool) -> tuple[Array, Array]:
    """Where the window of each frame starts and ends."""
    at = np.arange(count)
    starts = at - width // 2 if center else at - width
    ends = starts + width if center else at + 1
    ends = np.where(starts < 0, ends - starts, ends)
    starts = np.maximum(starts, 0)
    if not center:
        ends = np.where(ends > at, np.maximum(at + 1, least), ends)
    over = np.maximum(ends - count, 0)
    return np.maximum(starts - over, 0), np.minimum(ends, count)


def pitch(x: Array, sample_rate: int, frame_time: float, width: int, low: float, high: float) -> Array:
    """The pitch of each frame in hertz, smoothed by a median over ``width`` frames."""
    op = "DetectPitchFrequency"
    x = as_waveform(x, op)
    x = x.astype(np.float32) if x.dtype == np.float16 else x
    lags, least = math.ceil(sample_rate / int(low)), math.ceil(sample_rate / int(high))
    size = math.ceil(sample_rate * frame_time)
    side = (width - 1) // 2
    count = -(-x.shape[-1] // size) if size > 0 else 0
    if count + side < width or not 0 <= least < lags:
        raise DataError(
            f"{op}: {x.shape[-1]} samples make {max(count, 0)} frames, and the lags from {least} to {lags} are "
            f"searched: it takes {width - side} frames or more, and freq_low < freq_high < sample_rate."
        )
    found = _best_lags(_likeness(x, lags, size, count), least)
    found = np.concatenate([np.repeat(found[..., :1], side, -1), found], -1)
    middle = np.sort(sliding_window_view(found, width, -1), -1)[..., side]
    return (sample_rate / (_TINY + middle)).astype(np.float32)


def _likeness(x: Array, lags: int, size: int, count: int) -> Array:
    """How much each frame is like the stretch a lag later, (..., frame, lag)."""
    length = x.shape[-1]
    wide = np.zeros((*x.shape[:-1], count * size + lags), x.dtype)
    wide[..., :length] = x
    first = wide[..., : count * size].reshape(*x.shape[:-1], count, size)
    later = _shifts(wide, lags, size, count)
    both = np.matmul(later, first[..., None])[..., 0]
    tiny = x.dtype.type(_TINY)
    sizes = np.square(tiny + np.sqrt(_shifts(np.square(wide), lags, size, count).sum(-1)))
    own = np.square(tiny + np.sqrt(np.square(first).sum(-1)))
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        made: Array = both / own[..., None] / sizes
    return made


def _shifts(wide: Array, lags: int, size: int, count: int) -> Array:
    """Each frame at all its lags, (..., frame, lag, sample), in the memory that is there."""
    step = wide.strides[-1]
    shape = (*wide.shape[:-1], count, lags, size)
    strides = (*wide.strides[:-1], step * size, step, step)
    return as_strided(wide[..., 1:], shape, strides, writeable=False)


def _best_lags(likeness: Array, least: int) -> Array:
    """The lag at which a frame is most like itself; one in the first half is preferred."""
    best, half = likeness[..., least:], likeness[..., least : likeness.shape[-1] // 2]
    at = best.argmax(-1)
    if half.shape[-1]:
        at = np.where(half.max(-1) > 0.99 * best.max(-1), half.argmax(-1), at)
    return at + least + 1

"""A sound mixed with itself a moment later, the moment rising and falling: Phaser and Flanger."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .enums import Interpolation, Modulation
from .validation import as_float32, as_float_waveform, check_dims, check_filled, check_numbers, floating

__all__ = ["flanger", "phaser"]

Array = np.ndarray[Any, Any]


def phaser(
    x: Array,
    rate: int,
    gain_in: float,
    gain_out: float,
    delay_ms: float,
    decay: float,
    speed: float,
    sinusoidal: bool,
) -> Array:
    """Each value plus a share of an earlier one, the delay rising and falling from 1 sample to ``delay_ms``."""
    made = as_float_waveform(x, "Phaser")
    longest = int(as_float32(delay_ms) * 0.001 * rate + 0.5)
    period = int(rate / as_float32(speed) + 0.5)
    if period <= 0:
        raise DataError(f"Phaser: table_size must be more than 0, but got: {period}")
    if longest <= 0:
        raise DataError(
            f"Phaser: a delay of {delay_ms} ms at {rate} samples a second is less than one sample. "
            "Give a larger delay_ms."
        )
    wave = Modulation.SINUSOIDAL if sinusoidal else Modulation.TRIANGULAR
    delays = np.resize(_whole_delays(wave, period, longest), made.shape[-1])
    flat = (made * made.dtype.type(as_float32(gain_in))).reshape(-1, made.shape[-1])
    mixed = _echo(flat, delays, as_float32(decay)).reshape(made.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(mixed * made.dtype.type(as_float32(gain_out)), -1, 1).astype(made.dtype, copy=False)


@functools.lru_cache(maxsize=16)
def _whole_delays(modulation: Modulation, period: int, longest: int) -> Array:
    """One period of delays in whole samples, from 1 to the longest."""
    table = _table(modulation, period, 1.0, float(longest), math.pi / 2)
    return longest + 1 - np.trunc(table + np.copysign(0.5, table)).astype(np.int64)


def _echo(x: Array, delays: Array, share: float) -> Array:
    """y[t] = x[t] + share * y[t - delay[t]] for each row, in float64. The delay stays the same for long stretches."""
    rows, length = x.shape
    longest = int(delays.max(initial=1))
    made = np.zeros((rows, longest + length))
    made[:, longest:] = x
    changes = (np.flatnonzero(np.diff(delays)) + 1).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for start, stop in zip([0, *changes], [*changes, length]):
            _echo_stretch(made, start + longest, stop + longest, int(delays[start]), share)
    return made[:, longest:]


def _echo_stretch(made: Array, start: int, stop: int, delay: int, share: float) -> None:
    """One stretch of `_echo`, in place: one echo, then those of both, then those of all four, and so on."""
    now = made[:, start:stop]
    size = stop - start
    first = min(delay, size)
    now[:, :first] += share * made[:, start - delay : start - delay + first]
    while delay < size and share:
        now[:, delay:] += share * now[:, :-delay]
        share, delay = share * share, delay * 2


def flanger(
    x: Array,
    rate: int,
    delay: float,
    depth: float,
    regeneration: float,
    width: float,
    speed: float,
    phase: float,
    modulation: Modulation,
    interpolation: Interpolation,
) -> Array:
    """<..., channel, time>: each channel mixed with itself some milliseconds later, the delay between two samples."""
    op = "Flanger"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., channel, time>")
    check_numbers(x, op)
    made = floating(x)
    channels, length = made.shape[-2:]
    if channels > 4:
        raise DataError(
            "Flanger: the channel of input tensor does not match the requirement of operator. Expecting tensor with "
            f"channel less than or equal to 4. But got channel: {channels}"
        )
    feedback, wet = as_float32(regeneration) / 100, as_float32(width) / 100
    dry, wet = 1 / (1 + wet), wet / (1 + wet) * (1 - abs(feedback))
    least, range_ = as_float32(delay) / 1000, as_float32(depth) / 1000
    period = int(rate / as_float32(speed))
    if period <= 0:
        raise DataError(f"Flanger: table_size must be more than 0, but got: {period}")
    low, high = math.floor(least * rate + 0.5), int((least + range_) * rate + 0.5)
    table = _table(modulation, period, float(low), float(high), 3 * math.pi / 2)
    offsets = (np.arange(channels) * period * (as_float32(phase) / 100) + 0.5).astype(np.int64)
    moments = table[(np.arange(length) + offsets[:, None]) % period]
    flat = made.reshape(-1, channels, length).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        late = _delayed(flat, moments, feedback, interpolation == Interpolation.QUADRATIC)
        mixed = np.clip(flat * dry + late * wet, -1, 1)
    return mixed.reshape(made.shape).astype(made.dtype)


def _delayed(x: Array, moments: Array, feedback: float, quadratic: bool) -> Array:
    """Each channel as it was ``moments`` samples before, a share of the result fed back into what is delayed."""
    whole = np.floor(moments).astype(np.int64)
    part = moments - whole
    reach = int(whole.max(initial=0)) + 3
    groups, channels, length = x.shape
    buffer = np.zeros((groups, channels, reach + length))
    late = np.zeros_like(x)
    rows = np.arange(channels)[:, None]
    buffer[..., reach:] = x
    if feedback == 0:
        return _between(buffer, rows, whole, part, reach, quadratic)
    # what is delayed up to `start` is known; a value later on is, too, where its delay reaches back that far
    needed = np.maximum.accumulate(np.arange(length) - whole.min(axis=0))
    stops = np.searchsorted(needed, np.arange(length), side="right").tolist()
    start = 0
    while start < length:
        stop = stops[start]
        now = slice(start, stop)
        late[..., now] = _between(buffer, rows, whole[:, now], part[:, now], reach + start, quadratic)
        size = min(stop + 1, length) - start - 1
        buffer[..., reach + start + 1 : reach + start + 1 + size] += (
            feedback * late[..., start : start + size]
        )
        start = stop
    return late


def _between(buffer: Array, rows: Array, whole: Array, part: Array, start: int, quadratic: bool) -> Array:
    """Values of the buffer between samples, on a line or on a parabola."""
    at = start + np.arange(whole.shape[1]) - whole
    zero, one = buffer[:, rows, at], buffer[:, rows, at - 1]
    if not quadratic:
        return zero + (one - zero) * part
    one, two = one - zero, buffer[:, rows, at - 2] - zero
    return zero + ((two * 0.5 - one) * part + (one * 2 - two * 0.5)) * part


@functools.lru_cache(maxsize=16)
def _table(modulation: Modulation, size: int, low: float, high: float, phase: float) -> Array:
    """One period of a wave from low to high."""
    point = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if modulation == Modulation.SINUSOIDAL:
        wave = (np.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        slope, quarter = point * 2 / size, point * 4 // size
        wave = np.select([quarter == 0, quarter == 3], [slope + 0.5, slope - 1.5], 1.5 - slope)
    made = wave * (high - low) + low
    made.flags.writeable = False
    return np.asarray(made)

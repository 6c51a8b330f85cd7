"""Phaser and flanger: a signal mixed with a copy of itself at a modulated delay."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .enums import Interpolation, Modulation
from .validation import as_float, as_float32, as_float_waveform, check_dims, check_not_empty, check_numbers

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
    """Phaser: each sample plus a share of an earlier one; the delay is modulated between 1 sample and ``delay_ms``."""
    waveform = as_float_waveform(x, "Phaser")
    max_delay = int(as_float32(delay_ms) * 0.001 * rate + 0.5)
    period = int(rate / as_float32(speed) + 0.5)
    if period <= 0:
        raise DataError(f"Phaser: table_size must be more than 0, but got: {period}")
    if max_delay <= 0:
        raise DataError(
            f"Phaser: a delay of {delay_ms} ms at {rate} samples a second is less than one sample. "
            "Give a larger delay_ms."
        )
    wave = Modulation.SINUSOIDAL if sinusoidal else Modulation.TRIANGULAR
    delays = np.resize(_integer_delays(wave, period, max_delay), waveform.shape[-1])
    flat = (waveform * waveform.dtype.type(as_float32(gain_in))).reshape(-1, waveform.shape[-1])
    mixed = _add_echo(flat, delays, as_float32(decay)).reshape(waveform.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.clip(mixed * waveform.dtype.type(as_float32(gain_out)), -1, 1).astype(
            waveform.dtype, copy=False
        )


@functools.lru_cache(maxsize=16)
def _integer_delays(modulation: Modulation, period: int, max_delay: int) -> Array:
    """One period of integer delays in samples, from 1 to ``max_delay``."""
    table = _modulation_wave(modulation, period, 1.0, float(max_delay), math.pi / 2)
    return max_delay + 1 - np.trunc(table + np.copysign(0.5, table)).astype(np.int64)


def _add_echo(x: Array, delays: Array, decay: float) -> Array:
    """y[t] = x[t] + decay * y[t - delay[t]] for each row, in float64. The delay is constant over long segments."""
    rows, length = x.shape
    max_delay = int(delays.max(initial=1))
    buffer = np.zeros((rows, max_delay + length))
    buffer[:, max_delay:] = x
    changes = (np.flatnonzero(np.diff(delays)) + 1).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for start, stop in zip([0, *changes], [*changes, length]):
            _add_echo_segment(buffer, start + max_delay, stop + max_delay, int(delays[start]), decay)
    return buffer[:, max_delay:]


def _add_echo_segment(buffer: Array, start: int, stop: int, delay: int, decay: float) -> None:
    """Add the echoes of a segment with a constant delay, in place: one echo, then two at once, then four, and so on."""
    segment = buffer[:, start:stop]
    size = stop - start
    first = min(delay, size)
    segment[:, :first] += decay * buffer[:, start - delay : start - delay + first]
    while delay < size and decay:
        segment[:, delay:] += decay * segment[:, :-delay]
        decay, delay = decay * decay, delay * 2


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
    """Flanger on <..., channel, time>: each channel mixed with itself at a modulated, fractional delay."""
    op = "Flanger"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., channel, time>")
    check_numbers(x, op)
    waveform = as_float(x)
    channels, length = waveform.shape[-2:]
    if channels > 4:
        raise DataError(
            "Flanger: the channel of input tensor does not match the requirement of operator. Expecting tensor with "
            f"channel less than or equal to 4. But got channel: {channels}"
        )
    feedback, wet = as_float32(regeneration) / 100, as_float32(width) / 100
    dry, wet = 1 / (1 + wet), wet / (1 + wet) * (1 - abs(feedback))
    min_delay, delay_range = as_float32(delay) / 1000, as_float32(depth) / 1000
    period = int(rate / as_float32(speed))
    if period <= 0:
        raise DataError(f"Flanger: table_size must be more than 0, but got: {period}")
    low, high = math.floor(min_delay * rate + 0.5), int((min_delay + delay_range) * rate + 0.5)
    table = _modulation_wave(modulation, period, float(low), float(high), 3 * math.pi / 2)
    offsets = (np.arange(channels) * period * (as_float32(phase) / 100) + 0.5).astype(np.int64)
    delays = table[(np.arange(length) + offsets[:, None]) % period]
    flat = waveform.reshape(-1, channels, length).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        delayed = _variable_delay(flat, delays, feedback, interpolation == Interpolation.QUADRATIC)
        mixed = np.clip(flat * dry + delayed * wet, -1, 1)
    return mixed.reshape(waveform.shape).astype(waveform.dtype)


def _variable_delay(x: Array, delays: Array, feedback: float, quadratic: bool) -> Array:
    """Delay each channel by ``delays`` samples; a share of the result is added to the delay line (feedback)."""
    whole_delays = np.floor(delays).astype(np.int64)
    fractions = delays - whole_delays
    history = int(whole_delays.max(initial=0)) + 3
    groups, channels, length = x.shape
    buffer = np.zeros((groups, channels, history + length))
    delayed = np.zeros_like(x)
    rows = np.arange(channels)[:, None]
    buffer[..., history:] = x
    if feedback == 0:
        return _interpolate(buffer, rows, whole_delays, fractions, history, quadratic)
    # the output before `start` is known; later values whose delay reaches back that far follow from it at once
    needed = np.maximum.accumulate(np.arange(length) - whole_delays.min(axis=0))
    stops = np.searchsorted(needed, np.arange(length), side="right").tolist()
    start = 0
    while start < length:
        stop = stops[start]
        segment = slice(start, stop)
        delayed[..., segment] = _interpolate(
            buffer, rows, whole_delays[:, segment], fractions[:, segment], history + start, quadratic
        )
        size = min(stop + 1, length) - start - 1
        buffer[..., history + start + 1 : history + start + 1 + size] += (
            feedback * delayed[..., start : start + size]
        )
        start = stop
    return delayed


def _interpolate(
    buffer: Array, rows: Array, whole_delays: Array, fractions: Array, start: int, quadratic: bool
) -> Array:
    """Values of the buffer between samples, by linear or quadratic interpolation."""
    indices = start + np.arange(whole_delays.shape[1]) - whole_delays
    zero, one = buffer[:, rows, indices], buffer[:, rows, indices - 1]
    if not quadratic:
        return zero + (one - zero) * fractions
    one, two = one - zero, buffer[:, rows, indices - 2] - zero
    return zero + ((two * 0.5 - one) * fractions + (one * 2 - two * 0.5)) * fractions


@functools.lru_cache(maxsize=16)
def _modulation_wave(modulation: Modulation, size: int, low: float, high: float, phase: float) -> Array:
    """One period of a sine or triangle wave between low and high."""
    point = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if modulation == Modulation.SINUSOIDAL:
        wave = (np.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        slope, quarter = point * 2 / size, point * 4 // size
        wave = np.select([quarter == 0, quarter == 3], [slope + 0.5, slope - 1.5], 1.5 - slope)
    table = wave * (high - low) + low
    table.flags.writeable = False
    return np.asarray(table)

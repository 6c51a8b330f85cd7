"""Gain, volume, contrast, DC shift, overdrive and fade of waveforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .enums import FadeShape, GainType
from .validation import as_float32, as_float_waveform

__all__ = ["contrast", "dc_shift", "fade", "gain", "overdrive", "volume"]

Array = np.ndarray[Any, Any]


def gain(x: Array, decibels: float) -> Array:
    """Amplify a waveform by a gain in decibels."""
    waveform = as_float_waveform(x, "Gain")
    return waveform if decibels == 0 else _multiply(waveform, 10.0 ** (as_float32(decibels) / 20))


def volume(x: Array, amount: float, gain_type: GainType) -> Array:
    """Multiply a waveform by a gain (amplitude factor, power ratio or decibels) and clip it to [-1, 1]."""
    waveform, amount = as_float_waveform(x, "Vol"), as_float32(amount)
    if gain_type == GainType.DB:
        amount = 10.0 ** (amount / 20)
    elif gain_type == GainType.POWER:
        amount = math.sqrt(amount)
    return _clip(_multiply(waveform, amount))


def contrast(x: Array, amount: float) -> Array:
    """Compress the dynamic range: values move towards -1 and 1."""
    waveform = as_float_waveform(x, "Contrast")
    angle = (waveform.astype(np.float64) * (math.pi / 2)).astype(waveform.dtype)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sin(angle + waveform.dtype.type(as_float32(amount) / 750) * np.sin(angle * 4)))


def dc_shift(x: Array, shift: float, limiter: float | None) -> Array:
    """Add a constant and clip to [-1, 1]; with a limiter gain, peaks are compressed instead of clipped."""
    waveform = as_float_waveform(x, "DCShift")
    dtype = waveform.dtype.type
    offset = dtype(as_float32(shift))
    if not limiter or shift == 0:
        return _clip(waveform + offset)
    if shift < 0:
        return -dc_shift(-waveform, -shift, limiter)
    gain = np.float32(limiter)
    knee = dtype(np.float32(1) - (np.float32(shift) - gain))
    with np.errstate(divide="ignore", invalid="ignore"):
        compressed = np.minimum((waveform - knee) * dtype(gain) / (dtype(1) - knee) + knee + offset, knee)
    return np.where(waveform > knee, compressed, _clip(waveform + offset))


def overdrive(x: Array, loudness: float, colour: float) -> Array:
    """Distort a waveform: gain, soft clipping, then a DC-blocking filter mixed with the input."""
    waveform = as_float_waveform(x, "Overdrive")
    dtype = waveform.dtype.type
    with np.errstate(over="ignore", invalid="ignore"):
        driven = waveform * dtype(10.0 ** (as_float32(loudness) / 20)) + dtype(as_float32(colour) / 200)
        limit = dtype(2 / 3)
        driven = np.where(
            driven < -1, -limit, np.where(driven > 1, limit, driven - driven * driven * driven * dtype(1 / 3))
        )
        signal = require("scipy.signal", extra="audio", purpose="Overdrive")
        filtered = signal.lfilter([1.0, -1.0], [1.0, -0.995], driven.astype(np.float64))
        return _clip((waveform * 0.5 + filtered * 0.75).astype(waveform.dtype))


def fade(x: Array, rise: int, fall: int, shape: FadeShape) -> Array:
    """Fade in over the first ``rise`` samples and fade out over the last ``fall`` samples."""
    waveform = as_float_waveform(x, "Fade")
    length = waveform.shape[-1]
    for name, size in (("fade_in_len", rise), ("fade_out_len", fall)):
        if size > length:
            raise DataError(
                f"Fade: invalid parameter, '{name}' should be no greater than 'length of waveform', but got: "
                f"{name} {size} while length of waveform {length}."
            )
    if not rise and not fall:
        return x
    waveform = waveform.copy() if waveform is x else waveform
    if rise:
        waveform[..., :rise] *= _fade_curve(rise, shape).astype(waveform.dtype)
    if fall:
        # the fade-in curve reversed; a fade-out of one sample keeps the value with which it begins
        curve = _fade_curve(fall, shape)[::-1] if fall > 1 else _fade_curve(2, shape)[1:]
        waveform[..., length - fall :] *= curve.astype(waveform.dtype)
    return waveform


def _fade_curve(length: int, shape: FadeShape) -> Array:
    """Fade-in curve from 0 to 1."""
    t = np.linspace(0.0, 1.0, length) if length > 1 else np.zeros(length)
    if shape == FadeShape.LINEAR:
        return t
    if shape == FadeShape.EXPONENTIAL:
        return 2.0 ** (t - 1) * t
    if shape == FadeShape.LOGARITHMIC:
        return np.log10(0.1 + t) + 1
    if shape == FadeShape.QUARTER_SINE:
        return np.sin(t * (math.pi / 2))
    return np.sin(t * math.pi - math.pi / 2) / 2 + 0.5


def _multiply(waveform: Array, factor: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(waveform * waveform.dtype.type(factor))


def _clip(waveform: Array) -> Array:
    return np.clip(waveform, -1, 1, out=waveform)

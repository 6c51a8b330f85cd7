"""Louder, softer, shifted, bent: what changes the values of a waveform by themselves."""

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
    """All values times the factor that these decibels are."""
    made = as_float_waveform(x, "Gain")
    return made if decibels == 0 else _times(made, 10.0 ** (as_float32(decibels) / 20))


def volume(x: Array, amount: float, kind: GainType) -> Array:
    """All values times a factor (given as such, as a ratio of powers or in decibels), cut to [-1, 1]."""
    made, amount = as_float_waveform(x, "Vol"), as_float32(amount)
    if kind == GainType.DB:
        amount = 10.0 ** (amount / 20)
    elif kind == GainType.POWER:
        amount = math.sqrt(amount)
    return _cut(_times(made, amount))


def contrast(x: Array, amount: float) -> Array:
    """Values bent towards -1 and 1, which makes a sound denser."""
    made = as_float_waveform(x, "Contrast")
    angle = (made.astype(np.float64) * (math.pi / 2)).astype(made.dtype)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sin(angle + made.dtype.type(as_float32(amount) / 750) * np.sin(angle * 4)))


def dc_shift(x: Array, shift: float, limiter: float | None) -> Array:
    """All values plus a constant, cut to [-1, 1]; with a limiter, peaks that would be cut are pressed instead."""
    made = as_float_waveform(x, "DCShift")
    kind = made.dtype.type
    by = kind(as_float32(shift))
    if not limiter or shift == 0:
        return _cut(made + by)
    if shift < 0:
        return -dc_shift(-made, -shift, limiter)
    soft = np.float32(limiter)
    knee = kind(np.float32(1) - (np.float32(shift) - soft))
    with np.errstate(divide="ignore", invalid="ignore"):
        pressed = np.minimum((made - knee) * kind(soft) / (kind(1) - knee) + knee + by, knee)
    return np.where(made > knee, pressed, _cut(made + by))


def overdrive(x: Array, loudness: float, colour: float) -> Array:
    """As an amplifier that is turned up too far: loud values bent flat, then a slow drift taken out."""
    made = as_float_waveform(x, "Overdrive")
    kind = made.dtype.type
    with np.errstate(over="ignore", invalid="ignore"):
        bent = made * kind(10.0 ** (as_float32(loudness) / 20)) + kind(as_float32(colour) / 200)
        flat = kind(2 / 3)
        bent = np.where(bent < -1, -flat, np.where(bent > 1, flat, bent - bent * bent * bent * kind(1 / 3)))
        signal = require("scipy.signal", extra="audio", purpose="Overdrive")
        drift = signal.lfilter([1.0, -1.0], [1.0, -0.995], bent.astype(np.float64))
        return _cut((made * 0.5 + drift * 0.75).astype(made.dtype))


def fade(x: Array, rise: int, fall: int, shape: FadeShape) -> Array:
    """The first values from silence, the last ones to silence."""
    made = as_float_waveform(x, "Fade")
    length = made.shape[-1]
    for name, size in (("fade_in_len", rise), ("fade_out_len", fall)):
        if size > length:
            raise DataError(
                f"Fade: invalid parameter, '{name}' should be no greater than 'length of waveform', but got: "
                f"{name} {size} while length of waveform {length}."
            )
    if not rise and not fall:
        return x
    made = made.copy() if made is x else made
    if rise:
        made[..., :rise] *= _curve(rise, shape).astype(made.dtype)
    if fall:
        # the same curve backwards, but for one value, which is the beginning of both
        curve = _curve(fall, shape)[::-1] if fall > 1 else _curve(2, shape)[1:]
        made[..., length - fall :] *= curve.astype(made.dtype)
    return made


def _curve(length: int, shape: FadeShape) -> Array:
    """From 0 to 1."""
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


def _times(made: Array, factor: float) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(made * made.dtype.type(factor))


def _cut(made: Array) -> Array:
    return np.clip(made, -1, 1, out=made)

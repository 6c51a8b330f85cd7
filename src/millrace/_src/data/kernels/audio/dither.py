"""Noise of one step of 16 bits before rounding to 16 bits, so that rounding makes no tones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .validation import as_float_waveform

__all__ = ["RANDOM_VALUES", "add_triangular_noise", "add_sampled_noise", "sample_index"]

Array = np.ndarray[Any, Any]

_STEPS = 2**15
# so many values of the wave make up its Gaussian noise, one its rectangular
RANDOM_VALUES = 7


def add_triangular_noise(x: Array, shaping: bool) -> Array:
    """Dithered with a noise that rises to one step in the middle of the wave and falls again."""
    waveform = as_float_waveform(x, "Dither")
    length = waveform.shape[-1]
    return _quantize(waveform, np.bartlett(length + 1)[:length], shaping)


def add_sampled_noise(x: Array, units: Sequence[float], shaping: bool, gaussian: bool) -> Array:
    """Dithered with values of the wave itself, at places in [0, 1): one of them, or the sum of several.

    MindSpore adds to the first of them in the wave itself while it sums, so that a place that is drawn twice counts
    for what it has become; here the wave is left alone, and the sum is the same.
    """
    waveform = as_float_waveform(x, "Dither")
    indices = [sample_index(waveform, unit) for unit in units]
    values = waveform.reshape(-1)
    first = float(values[indices[0]])
    if not gaussian:
        return _quantize(waveform, first - 0.5, shaping)
    total = first
    for index in indices[1:]:
        total += total if index == indices[0] else float(values[index])
    return _quantize(waveform, total, shaping)


def sample_index(waveform: Array, unit: float) -> int:
    """The place of a value in the flattened wave, from a number in [0, 1)."""
    return min(int(unit * waveform.size), waveform.size - 1)


def _quantize(waveform: Array, noise: Any, shaping: bool) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = waveform * (_STEPS - 2) + np.asarray(noise, waveform.dtype)
        quantized = np.trunc(scaled + np.copysign(np.asarray(0.5, waveform.dtype), scaled)) / _STEPS
        quantized = quantized.astype(waveform.dtype, copy=False)
        if shaping:  # each value carries the error of the one before it
            error = quantized - waveform
            quantized[..., 1:] += error[..., :-1]
    return quantized

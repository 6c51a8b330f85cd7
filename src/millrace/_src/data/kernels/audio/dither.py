"""Dither: noise of one 16-bit step, added before quantization to 16 bits to avoid quantization tones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .validation import as_float_waveform

__all__ = ["RANDOM_VALUES", "add_triangular_noise", "add_sampled_noise", "sample_index"]

Array = np.ndarray[Any, Any]

_STEPS = 2**15
# samples of the waveform that are summed for Gaussian noise; rectangular noise takes one of them
RANDOM_VALUES = 7


def add_triangular_noise(x: Array, shaping: bool) -> Array:
    """Dither with triangular noise: it rises to one step in the middle of the waveform and falls again."""
    waveform = as_float_waveform(x, "Dither")
    length = waveform.shape[-1]
    return _quantize(waveform, np.bartlett(length + 1)[:length], shaping)


def add_sampled_noise(x: Array, units: Sequence[float], shaping: bool, gaussian: bool) -> Array:
    """Dither with samples of the waveform itself: one of them (rectangular), or the sum of several (Gaussian).

    Each of ``units``, a number in [0, 1), selects a sample. MindSpore adds to the first selected sample in the waveform
    itself while it sums, so that an index that occurs twice counts with its updated value. Here the waveform is not
    changed, and the sum is the same.
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
    """Index into the flattened waveform for a number in [0, 1)."""
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

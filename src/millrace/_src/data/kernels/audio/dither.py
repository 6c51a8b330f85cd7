"""Noise of one step of 16 bits before rounding to 16 bits, so that rounding makes no tones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .validation import as_float_waveform

__all__ = ["RANDOM_VALUES", "add_triangle", "add_values", "pick"]

Array = np.ndarray[Any, Any]

_STEPS = 2**15
# so many values of the wave make up its Gaussian noise, one its rectangular
RANDOM_VALUES = 7


def add_triangle(x: Array, shaping: bool) -> Array:
    """Dithered with a noise that rises to one step in the middle of the wave and falls again."""
    made = as_float_waveform(x, "Dither")
    length = made.shape[-1]
    return _rounded(made, np.bartlett(length + 1)[:length], shaping)


def add_values(x: Array, picked: Sequence[float], shaping: bool, gaussian: bool) -> Array:
    """Dithered with values of the wave itself, at places in [0, 1): one of them, or the sum of several.

    MindSpore adds to the first of them in the wave itself while it sums, so that a place that is drawn twice counts
    for what it has become; here the wave is left alone, and the sum is the same.
    """
    made = as_float_waveform(x, "Dither")
    places = [pick(made, place) for place in picked]
    values = made.reshape(-1)
    first = float(values[places[0]])
    if not gaussian:
        return _rounded(made, first - 0.5, shaping)
    total = first
    for place in places[1:]:
        total += total if place == places[0] else float(values[place])
    return _rounded(made, total, shaping)


def pick(made: Array, share: float) -> int:
    """The place of a value in the flattened wave, from a number in [0, 1)."""
    return min(int(share * made.size), made.size - 1)


def _rounded(made: Array, noise: Any, shaping: bool) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        fine = made * (_STEPS - 2) + np.asarray(noise, made.dtype)
        rough = np.trunc(fine + np.copysign(np.asarray(0.5, made.dtype), fine)) / _STEPS
        rough = rough.astype(made.dtype, copy=False)
        if shaping:  # each value carries the error of the one before it
            error = rough - made
            rough[..., 1:] += error[..., :-1]
    return rough

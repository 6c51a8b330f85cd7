"""Louder, softer, shifted: what changes each value of a waveform by itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import sound

__all__ = ["gain"]

Array = np.ndarray[Any, Any]


def gain(x: Array, decibels: float) -> Array:
    """All values times the factor that these decibels are."""
    made = sound(x, "Gain")
    if decibels == 0:
        return made
    return made * made.dtype.type(10.0 ** (decibels / 20))

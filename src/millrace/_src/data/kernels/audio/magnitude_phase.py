"""Complex spectra as magnitudes and angles, magnitudes as decibels, and how spectra change."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .enums import BorderType, ScaleType
from .validation import as_float32, check_dims, check_filled, check_numbers, floating

__all__ = [
    "angle",
    "db_to_amplitude",
    "amplitude_to_db",
    "complex_norm",
    "compute_deltas",
    "magnitude_and_phase",
]

Array = np.ndarray[Any, Any]


def complex_norm(x: Array, power: float, op: str = "ComplexNorm") -> Array:
    """The magnitudes of complex numbers (real and imaginary part last), to a power."""
    made = _complex(x, op)
    real, imaginary = made[..., 0], made[..., 1]
    with np.errstate(over="ignore", invalid="ignore"):
        squared = real * real + imaginary * imaginary
        if power == 1:
            return np.asarray(np.sqrt(squared))
        return np.asarray(squared if power == 2 else squared ** made.dtype.type(as_float32(power) / 2))


def angle(x: Array, op: str = "Angle") -> Array:
    """The angles of complex numbers (real and imaginary part last)."""
    made = _complex(x, op)
    return np.asarray(np.arctan2(made[..., 1], made[..., 0]))


def magnitude_and_phase(x: Array, power: float) -> tuple[Array, Array]:
    return complex_norm(x, power, "Magphase"), angle(x, "Magphase")


def amplitude_to_db(x: Array, scale: ScaleType, reference: float, least: float, range_: float) -> Array:
    """Powers or magnitudes in decibels, none more than ``range_`` below the largest of its <channel, freq, time>."""
    op = "AmplitudeToDB"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    made = floating(x)
    kind = made.dtype.type
    reference, least, range_ = as_float32(reference), as_float32(least), as_float32(range_)
    times = 10.0 if scale == ScaleType.POWER else 20.0
    shift = times * math.log10(max(least, reference))
    with np.errstate(all="ignore"):
        loud = np.log10(np.maximum(made, kind(least))) * kind(times) - kind(shift)
        axes = tuple(range(max(0, loud.ndim - 3), loud.ndim))
        top = loud.max(axis=axes, keepdims=True)
        if np.isnan(top).any():  # of the others: a NaN stays where it is
            top = np.fmax.reduce(loud, axis=axes, keepdims=True)
        return np.maximum(loud, top - kind(range_))


def db_to_amplitude(x: Array, reference: float, power: float) -> Array:
    """Decibels back as powers (power 1) or magnitudes (power 0.5)."""
    op = "DBToAmplitude"
    check_filled(x, op)
    check_dims(x, op)
    check_numbers(x, op)
    made = floating(x)
    kind = made.dtype.type
    reference, power = as_float32(reference), as_float32(power)
    with np.errstate(all="ignore"):
        return np.asarray(kind(reference) * np.power(np.power(kind(10), made * kind(0.1)), kind(power)))


# the names of the enumeration, as numpy has them
_PADS = {
    BorderType.CONSTANT: "constant",
    BorderType.EDGE: "edge",
    BorderType.REFLECT: "reflect",
    BorderType.SYMMETRIC: "symmetric",
}


def compute_deltas(x: Array, window: int, border: BorderType) -> Array:
    """How fast a spectrum changes: the slope of the best line through the values about each, along time."""
    op = "ComputeDeltas"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    made = floating(x)
    reach = (window - 1) // 2
    length = made.shape[-1]
    wide = np.pad(made, [(0, 0)] * (made.ndim - 1) + [(reach, reach)], mode=_PADS[border])  # type: ignore[call-overload]
    total = np.zeros_like(made)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(-reach, reach + 1):
            total += wide[..., reach + k : reach + k + length] * made.dtype.type(k)
        return np.asarray(total / made.dtype.type(reach * (reach + 1) * (2 * reach + 1) / 3))


def _complex(x: Array, op: str) -> Array:
    check_filled(x, op)
    if x.ndim == 0 or x.shape[-1] != 2:
        raise DataError(
            f"{op}: the shape of input tensor does not match the requirement of operator. "
            "Expecting tensor in shape of <..., complex=2>."
        )
    check_numbers(x, op)
    return floating(x)

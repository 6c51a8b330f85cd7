"""Magnitude and phase of complex spectra, conversion to decibels, and delta coefficients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .enums import BorderType, ScaleType
from .validation import as_float, as_float32, check_dims, check_not_empty, check_numbers

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
    """Magnitude of complex numbers (real and imaginary part on the last axis), raised to a power."""
    pairs = _complex_pairs(x, op)
    real, imaginary = pairs[..., 0], pairs[..., 1]
    with np.errstate(over="ignore", invalid="ignore"):
        squared = real * real + imaginary * imaginary
        if power == 1:
            return np.asarray(np.sqrt(squared))
        return np.asarray(squared if power == 2 else squared ** pairs.dtype.type(as_float32(power) / 2))


def angle(x: Array, op: str = "Angle") -> Array:
    """Phase angle of complex numbers (real and imaginary part on the last axis)."""
    pairs = _complex_pairs(x, op)
    return np.asarray(np.arctan2(pairs[..., 1], pairs[..., 0]))


def magnitude_and_phase(x: Array, power: float) -> tuple[Array, Array]:
    return complex_norm(x, power, "Magphase"), angle(x, "Magphase")


def amplitude_to_db(x: Array, scale: ScaleType, reference: float, floor: float, top_db: float) -> Array:
    """Powers or magnitudes in decibels, at most ``top_db`` below the largest of each <channel, freq, time>."""
    op = "AmplitudeToDB"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    amplitudes = as_float(x)
    dtype = amplitudes.dtype.type
    reference, floor, top_db = as_float32(reference), as_float32(floor), as_float32(top_db)
    factor = 10.0 if scale == ScaleType.POWER else 20.0
    reference_level = factor * math.log10(max(floor, reference))
    with np.errstate(all="ignore"):
        decibels = np.log10(np.maximum(amplitudes, dtype(floor))) * dtype(factor) - dtype(reference_level)
        axes = tuple(range(max(0, decibels.ndim - 3), decibels.ndim))
        loudest = decibels.max(axis=axes, keepdims=True)
        if np.isnan(loudest).any():  # the maximum of the other values; a NaN stays at its position
            loudest = np.fmax.reduce(decibels, axis=axes, keepdims=True)
        return np.maximum(decibels, loudest - dtype(top_db))


def db_to_amplitude(x: Array, reference: float, power: float) -> Array:
    """Convert decibels to powers (``power`` 1) or magnitudes (``power`` 0.5)."""
    op = "DBToAmplitude"
    check_not_empty(x, op)
    check_dims(x, op)
    check_numbers(x, op)
    decibels = as_float(x)
    dtype = decibels.dtype.type
    reference, power = as_float32(reference), as_float32(power)
    with np.errstate(all="ignore"):
        return np.asarray(
            dtype(reference) * np.power(np.power(dtype(10), decibels * dtype(0.1)), dtype(power))
        )


# NumPy's names of the padding modes
_NUMPY_PAD_MODES = {
    BorderType.CONSTANT: "constant",
    BorderType.EDGE: "edge",
    BorderType.REFLECT: "reflect",
    BorderType.SYMMETRIC: "symmetric",
}


def compute_deltas(x: Array, window: int, border: BorderType) -> Array:
    """Delta coefficients along time: slope of the least-squares line through the window around each value."""
    op = "ComputeDeltas"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    spectrum = as_float(x)
    half_width = (window - 1) // 2
    length = spectrum.shape[-1]
    padded = np.pad(
        spectrum, [(0, 0)] * (spectrum.ndim - 1) + [(half_width, half_width)], mode=_NUMPY_PAD_MODES[border]
    )  # type: ignore[call-overload]
    weighted_sum = np.zeros_like(spectrum)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(-half_width, half_width + 1):
            weighted_sum += padded[..., half_width + k : half_width + k + length] * spectrum.dtype.type(k)
        return np.asarray(
            weighted_sum / spectrum.dtype.type(half_width * (half_width + 1) * (2 * half_width + 1) / 3)
        )


def _complex_pairs(x: Array, op: str) -> Array:
    check_not_empty(x, op)
    if x.ndim == 0 or x.shape[-1] != 2:
        raise DataError(
            f"{op}: the shape of input tensor does not match the requirement of operator. "
            "Expecting tensor in shape of <..., complex=2>."
        )
    check_numbers(x, op)
    return as_float(x)

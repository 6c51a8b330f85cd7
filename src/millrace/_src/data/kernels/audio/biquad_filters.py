"""Biquad filter coefficients: low-pass, high-pass, band-pass, shelving, equalizer, RIAA.

The formulas are those of R. Bristow-Johnson's cookbook and of SoX. MindSpore keeps arguments as float32 numbers and
computes in float64 (some filters: in float32 throughout). These functions do the same, since a filter with poles near
the unit circle shows the difference.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from .validation import as_float32

__all__ = [
    "Coefficients",
    "allpass",
    "band",
    "bandpass",
    "bandreject",
    "bass",
    "deemphasis",
    "equalizer",
    "user_coefficients",
    "highpass",
    "lowpass",
    "riaa",
    "treble",
]

F = np.float32
# an operation uses the same coefficients for every row
_cache = functools.lru_cache(maxsize=128)


class Coefficients(NamedTuple):
    """Numerator ``b`` and denominator ``a`` of the transfer function, lower delays first."""

    b: tuple[float, ...]
    a: tuple[float, ...]


def user_coefficients(b: Iterable[float], a: Iterable[float]) -> Coefficients:
    """Coefficients that the user gives, rounded to float32 as in MindSpore."""
    return _as_coefficients(map(F, b), map(F, a))


class _BiquadTerms(NamedTuple):
    """Common terms of the cookbook's formulas: cosine and sine of the angular frequency, and sine / 2q."""

    cos: Any
    sin: Any
    alpha: Any

    @property
    def a(self) -> tuple[float, ...]:
        return 1 + self.alpha, -2 * self.cos, 1 - self.alpha


@_cache
def allpass(rate: int, frequency: float, q: float) -> Coefficients:
    p = _biquad_terms(rate, frequency, q)
    return Coefficients(p.a[::-1], p.a)


@_cache
def lowpass(rate: int, frequency: float, q: float) -> Coefficients:
    p = _biquad_terms(rate, frequency, q)
    return Coefficients(((1 - p.cos) / 2, 1 - p.cos, (1 - p.cos) / 2), p.a)


@_cache
def highpass(rate: int, frequency: float, q: float) -> Coefficients:
    p = _biquad_terms(rate, frequency, q)
    return Coefficients(((1 + p.cos) / 2, -1 - p.cos, (1 + p.cos) / 2), p.a)


@_cache
def bandreject(rate: int, frequency: float, q: float) -> Coefficients:
    p = _biquad_terms(rate, frequency, q)
    return Coefficients((1.0, -2 * p.cos, 1.0), p.a)


@_cache
def bandpass(rate: int, frequency: float, q: float, constant_skirt: bool) -> Coefficients:
    """Band-pass filter, in float32 throughout."""
    angle = float(F(_angular_frequency(rate, frequency)))
    alpha = F(math.sin(angle) / 2 / as_float32(q))
    top = F(math.sin(angle) / 2) if constant_skirt else alpha
    return _as_coefficients((top, F(0), -top), (F(1) + alpha, F(-2 * math.cos(angle)), F(1) - alpha))


@_cache
def equalizer(rate: int, frequency: float, gain: float, q: float) -> Coefficients:
    p, amplitude = _biquad_terms(rate, frequency, q), _amplitude_ratio(gain)
    b = (1 + p.alpha * amplitude, -2 * p.cos, 1 - p.alpha * amplitude)
    return Coefficients(b, (1 + p.alpha / amplitude, -2 * p.cos, 1 - p.alpha / amplitude))


@_cache
def band(rate: int, frequency: float, q: float, noise: bool) -> Coefficients:
    width = as_float32(frequency) / as_float32(q)
    a2 = math.exp(-2 * math.pi * width / rate)
    a1 = -4 * a2 / (1 + a2) * math.cos(_angular_frequency(rate, frequency))
    if noise:
        b0 = _sqrt_or_nan(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2))
    else:
        b0 = _sqrt_or_nan(1 - a1 * a1 / (4 * a2)) * (1 - a2)
    return Coefficients((b0, 0.0, 0.0), (1.0, a1, a2))


@_cache
def bass(rate: int, gain: float, frequency: float, q: float) -> Coefficients:
    p, amplitude = _biquad_terms(rate, frequency, q), _amplitude_ratio(gain)
    b, a = _shelving_filter(p, amplitude, p.alpha, -1.0)
    return Coefficients(tuple([v / a[0] for v in b]), tuple([v / a[0] for v in a]))


@_cache
def treble(rate: int, gain: float, frequency: float, q: float) -> Coefficients:
    """High-shelf filter, in float32 throughout."""
    p = _biquad_terms(rate, frequency, q)
    coefficients = _shelving_filter(
        _BiquadTerms(F(p.cos), F(p.sin), F(p.alpha)), F(_amplitude_ratio(gain)), F(p.alpha), F(1)
    )
    return _as_coefficients(*coefficients)


# center frequency, slope, gain
_DEEMPHASIS = {44100: (5283.0, 0.4845, -9.477), 48000: (5356.0, 0.479, -9.62)}


@_cache
def deemphasis(rate: int) -> Coefficients:
    frequency, slope, gain = _DEEMPHASIS[rate]
    amplitude = math.exp(gain / 40 * math.log(10))
    p = _biquad_terms(rate, frequency, 1.0)
    alpha = p.sin / 2 * math.sqrt((amplitude + 1 / amplitude) * (1 / slope - 1) + 2)
    return _shelving_filter(p, amplitude, alpha, 1.0)


# zeros and poles, from SoX
_RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


@_cache
def riaa(rate: int) -> Coefficients:
    """RIAA playback equalization with a gain of 1 at 1000 Hz, in float32 throughout."""
    zeros, poles = _RIAA[rate]
    b, a = _polynomial_from_roots(*map(F, zeros)), _polynomial_from_roots(*map(F, poles))
    angle = float(F(2 * math.pi * 1000 / rate))
    gain = F(1) / F(math.sqrt(_squared_magnitude(b, angle) / _squared_magnitude(a, angle)))
    return _as_coefficients(tuple([v * gain for v in b]), a)


def _biquad_terms(rate: int, frequency: float, q: float) -> _BiquadTerms:
    angle = _angular_frequency(rate, frequency)
    return _BiquadTerms(math.cos(angle), math.sin(angle), math.sin(angle) / 2 / as_float32(q))


def _angular_frequency(rate: int, frequency: float) -> float:
    return 2 * math.pi * as_float32(frequency) / rate


def _amplitude_ratio(gain: float) -> float:
    """Square root of the amplitude ratio for a gain in decibels; infinity where float64 overflows."""
    power = as_float32(gain) / 40 * math.log(10)
    return math.exp(power) if power < 700 else math.inf


def _shelving_filter(p: _BiquadTerms, amplitude: Any, alpha: Any, sign: Any) -> Coefficients:
    """Coefficients of a high-shelf (sign 1) or low-shelf (sign -1) filter."""
    slope_term = 2 * amplitude**0.5 * alpha
    lower_term, upper_term = (amplitude - 1) * p.cos, (amplitude + 1) * p.cos
    b = (
        amplitude * ((amplitude + 1) + sign * lower_term + slope_term),
        -sign * 2 * amplitude * ((amplitude - 1) + sign * upper_term),
    )
    a = ((amplitude + 1) - sign * lower_term + slope_term, sign * 2 * ((amplitude - 1) - sign * upper_term))
    last = (
        amplitude * ((amplitude + 1) + sign * lower_term - slope_term),
        (amplitude + 1) - sign * lower_term - slope_term,
    )
    return Coefficients((*b, last[0]), (*a, last[1]))


def _polynomial_from_roots(first: Any, second: Any) -> tuple[Any, Any, Any]:
    """Coefficients of the polynomial with these roots."""
    return F(1), -(first + second), first * second


def _squared_magnitude(c: tuple[Any, Any, Any], angle: float) -> Any:
    """Squared magnitude of a polynomial on the unit circle."""
    real = c[0] + c[1] * F(math.cos(-angle)) + c[2] * F(math.cos(-2 * angle))
    imaginary = c[1] * F(math.sin(-angle)) + c[2] * F(math.sin(-2 * angle))
    return real * real + imaginary * imaginary


def _as_coefficients(b: Iterable[Any], a: Iterable[Any]) -> Coefficients:
    return Coefficients(tuple(map(float, b)), tuple(map(float, a)))


def _sqrt_or_nan(value: float) -> float:
    return math.sqrt(value) if value >= 0 else math.nan

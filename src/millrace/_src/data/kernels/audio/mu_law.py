"""Mu-law companding: encode and decode."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .validation import as_float_waveform

__all__ = ["mu_law_decode", "mu_law_encode"]

Array = np.ndarray[Any, Any]


def mu_law_encode(x: Array, channels: int) -> Array:
    """Encode values in [-1, 1] as int32 levels from 0 to channels - 1."""
    waveform = as_float_waveform(x, "MuLawEncoding")
    mu = _mu(channels, "Encoding")
    if not np.isfinite(waveform).all():
        raise DataError("MuLawEncoding: the waveform holds NaN or an infinity, which has no level.")
    dtype = waveform.dtype.type
    compressed = np.sign(waveform) * np.log1p(dtype(mu) * np.abs(waveform)) / dtype(math.log1p(mu))
    return np.asarray(((compressed + 1) / 2 * dtype(mu) + dtype(0.5)).astype(np.int32))


def mu_law_decode(x: Array, channels: int) -> Array:
    """Decode mu-law levels to values in [-1, 1]."""
    levels = as_float_waveform(x, "MuLawDecoding")
    mu = _mu(channels, "Decoding")
    dtype = levels.dtype.type
    compressed = levels / dtype(mu) * 2 - 1
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(
            np.sign(compressed) * (np.exp(np.abs(compressed) * dtype(math.log1p(mu))) - 1) / dtype(mu)
        )


def _mu(channels: int, what: str) -> float:
    if channels == 1:
        raise DataError(f"{what}: invalid parameter, 'mu' can not be zero.")
    return float(np.float32(channels - 1))

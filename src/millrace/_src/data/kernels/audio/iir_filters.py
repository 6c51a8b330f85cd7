"""Infinite impulse response filters along the last axis, computed with SciPy.

MindSpore computes in the type of the waveform. Here float32 is computed in float64 and rounded once, with coefficients
rounded to float32 as in MindSpore. The remaining difference is MindSpore's own rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .biquad_filters import Coefficients
from .validation import as_waveform

__all__ = ["filtfilt", "filter_waveform"]

Array = np.ndarray[Any, Any]

# float64 numbers of a block: small enough for the processor's cache
_BLOCK = 32768


def filter_waveform(x: Array, op: str, coefficients: Coefficients, clamp: bool = True) -> Array:
    """Filter a waveform; ``clamp`` clips the result to [-1, 1]."""
    b, a = _normalize_coefficients(as_waveform(x, op), coefficients)
    return _clip_and_cast(_run_filter(x, b, a), x, clamp)


def filtfilt(x: Array, op: str, coefficients: Coefficients, clamp: bool = True) -> Array:
    """Filter a waveform forward and then backward, which cancels the phase shift."""
    b, a = _normalize_coefficients(as_waveform(x, op), coefficients)
    forward = _run_filter(x, b, a)[..., ::-1]
    return np.ascontiguousarray(_clip_and_cast(_run_filter(forward, b, a), x, clamp)[..., ::-1])


def _normalize_coefficients(x: Array, coefficients: Coefficients) -> tuple[Array, Array]:
    """``b`` and ``a`` divided by ``a[0]``, in the precision that MindSpore uses."""
    if not coefficients.a:
        raise DataError("lfilter: a_coeffs can not be an empty vector.")
    dtype = np.float64 if x.dtype == np.float64 else np.float32
    with np.errstate(all="ignore"):
        b, a = (np.array(c, np.float64).astype(dtype) for c in coefficients)
        if a[0] == 0:
            raise DataError("lfilter: a_coeffs[0] can not be equal to zero, but got: 0.000000")
        return b / a[0], a / a[0]


def _run_filter(x: Array, b: Array, a: Array) -> Array:
    """The filtered waveform in the type of ``b``, computed in float64, in blocks that fit the processor's cache."""
    signal = require("scipy.signal", extra="audio", purpose="filtering a waveform")
    output = np.empty(x.shape, b.dtype)
    wide_b, wide_a = b.astype(np.float64), a.astype(np.float64)
    size = max(1024, _BLOCK // x[..., 0].size)
    state = np.zeros((*x.shape[:-1], len(b) - 1))
    try:
        with np.errstate(all="ignore", over="raise"):
            for start in range(0, x.shape[-1], size):
                block = slice(start, start + size)
                filtered, state = signal.lfilter(wide_b, wide_a, x[..., block].astype(np.float64), zi=state)
                output[..., block] = filtered
    except FloatingPointError:
        # where float32 overflows, MindSpore's sums become infinite, and later sums NaN
        with np.errstate(all="ignore"):
            return np.asarray(signal.lfilter(b, a, x.astype(np.float32)))
    return output


def _clip_and_cast(output: Array, x: Array, clamp: bool) -> Array:
    if clamp:
        np.clip(output, -1, 1, out=output)
    with np.errstate(over="ignore"):
        return output.astype(x.dtype, copy=False)

"""Mel and linear filter banks and DCT bases: small matrices, cached."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from millrace._src.core.optional import require

__all__ = ["FilterBank", "dct_basis", "linear_filter_bank", "mel_filter_bank"]

Array = np.ndarray[Any, Any]


class FilterBank:
    """Triangular filters over the frequencies of a spectrogram.

    Most weights are zero, so only the others are multiplied. Each element of the result is a sum over the
    frequencies in ascending order, without fused multiply-add: its bits depend neither on how many frames and
    spectrograms are computed together nor on the processor. Those of a matrix product of BLAS depend on both.
    """

    def __init__(self, weights: Array) -> None:
        self.weights = weights  # (frequency, filter)

    @functools.cached_property
    def _nonzero(self) -> Any:
        return _scipy_sparse().csr_array(self.weights.T)

    @functools.cached_property
    def _with_zeros(self) -> Any:
        """The same filters with their zeros stored: zero times infinity is NaN, in every filter."""
        filters, frequencies = self.weights.T.shape
        columns = np.tile(np.arange(frequencies), filters)
        starts = np.arange(filters + 1) * frequencies
        return _scipy_sparse().csr_array(
            (self.weights.T.ravel(), columns, starts), shape=(filters, frequencies)
        )

    def apply(self, x: Array) -> Array:
        """Filter spectrograms (..., frequency, frame): (..., filter, frame)."""
        frames = x.shape[-1]
        filters = self._nonzero if np.isfinite(x).all() else self._with_zeros
        # one product for all spectrograms, with frequencies as the first axis
        spectra = np.ascontiguousarray(np.moveaxis(x, -2, 0)).reshape(x.shape[-2], -1)
        filtered = (filters @ spectra).reshape(-1, *x.shape[:-2], frames)
        return np.ascontiguousarray(np.moveaxis(filtered, 0, -2))


def _scipy_sparse() -> Any:
    return require("scipy.sparse", extra="audio", purpose="a filter bank")


@functools.lru_cache(maxsize=32)
def mel_filter_bank(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str,
    mel_type: str,
    dtype: str,
) -> FilterBank:
    """Triangular filters, evenly spaced on the mel scale."""
    low, high = _to_mel(f_min, mel_type), _to_mel(f_max, mel_type)
    points = _to_hertz(np.linspace(low, high, n_mels + 2), mel_type)
    weights = _triangular_weights(n_freqs, points, sample_rate)
    if norm == "slaney":
        weights *= 2.0 / (points[2:] - points[:-2])
    return FilterBank(_read_only(weights, dtype))


@functools.lru_cache(maxsize=32)
def linear_filter_bank(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int, dtype: str
) -> FilterBank:
    """Triangular filters, evenly spaced in hertz."""
    return FilterBank(
        _read_only(_triangular_weights(n_freqs, np.linspace(f_min, f_max, n_filter + 2), sample_rate), dtype)
    )


@functools.lru_cache(maxsize=32)
def dct_basis(n_mfcc: int, n_mels: int, norm: str, dtype: str) -> Array:
    """Basis of the discrete cosine transform, (coefficient, mel); read-only."""
    basis = np.cos(math.pi / n_mels * np.outer(np.arange(n_mels) + 0.5, np.arange(n_mfcc)))
    if norm == "ortho":
        basis[:, 0] *= 1 / math.sqrt(2)
        basis *= math.sqrt(2 / n_mels)
    else:
        basis *= 2
    return _read_only(np.ascontiguousarray(basis.T), dtype)


def _triangular_weights(n_freqs: int, points: Array, sample_rate: int) -> Array:
    frequencies = np.linspace(0, sample_rate / 2, n_freqs)
    widths = np.diff(points)
    with np.errstate(divide="ignore", invalid="ignore"):
        rising = (frequencies[:, None] - points[:-2]) / widths[:-1]
        falling = (points[2:] - frequencies[:, None]) / widths[1:]
    return np.maximum(0.0, np.minimum(rising, falling))


# Slaney's scale: steps of 200/3 Hz up to 1000 Hz, then 27 steps to 6400 Hz
_STEP, _BREAK, _LOG_STEP = 200.0 / 3, 1000.0, math.log(6.4) / 27.0


def _to_mel(frequency: float, mel_type: str) -> float:
    if mel_type == "htk":
        return 2595.0 * math.log10(1.0 + frequency / 700.0)
    if frequency < _BREAK:
        return frequency / _STEP
    return _BREAK / _STEP + math.log(frequency / _BREAK) / _LOG_STEP


def _to_hertz(mels: Array, mel_type: str) -> Array:
    if mel_type == "htk":
        frequencies: Array = 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
        return frequencies
    break_mel = _BREAK / _STEP
    return np.where(
        mels < break_mel, mels * _STEP, _BREAK * np.exp(_LOG_STEP * (np.maximum(mels, break_mel) - break_mel))
    )


def _read_only(matrix: Array, dtype: str) -> Array:
    matrix = matrix.astype(np.float32).astype(dtype)
    matrix.flags.writeable = False
    return matrix

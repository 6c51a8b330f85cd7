"""Filter-bank spectrograms, cepstral coefficients, and the inverse mel scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .filter_banks import FilterBank
from .stft import StftParams, power_spectra
from .validation import as_float, check_dims, check_not_empty, check_numbers

__all__ = [
    "FilterBankFactory",
    "cepstrum",
    "check_length",
    "filter_bank_spectrogram",
    "apply_filter_bank",
    "inverse_filter_bank",
]

Array = np.ndarray[Any, Any]
# (number of frequencies, dtype name) -> filter bank
FilterBankFactory = Callable[[int, str], FilterBank]


def apply_filter_bank(x: Array, n_stft: int, bank: FilterBankFactory) -> Array:
    """Apply a filter bank (frequency, filter) to a spectrogram (..., frequency, frame)."""
    op = "MelScale"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    if x.shape[-2] != n_stft:
        raise DataError(
            f"{op}: invalid parameter, 'n_stft' should be equal to 'freq', "
            f"but got: n_stft {n_stft} while freq {x.shape[-2]}."
        )
    x = as_float(x)
    with np.errstate(invalid="ignore"):
        return bank(n_stft, x.dtype.name).apply(x)


def check_length(x: Array, n_fft: int, op: str) -> None:
    """Raise an error for a waveform of at most half a frame, as MindSpore does for any padding."""
    if x.ndim and x.size and n_fft >= 2 * x.shape[-1]:
        raise DataError(
            f"{op}: Padding size should be less than the corresponding input dimension. "
            f"It is {n_fft // 2} for {x.shape[-1]} samples."
        )


def filter_bank_spectrogram(
    x: Array, params: StftParams, pad: int, power: float, normalized: bool, bank: FilterBankFactory, op: str
) -> Array:
    """Filter-bank spectrogram (..., filter, frame) of a waveform; two-sided spectra are computed as one-sided ones."""
    if not params.onesided:
        params = params._replace(onesided=True)
    spectra = power_spectra(x, params, pad, power, normalized, op)
    with np.errstate(invalid="ignore", over="ignore"):
        return bank(spectra.shape[-1], spectra.dtype.name).apply(spectra.swapaxes(-1, -2))


def cepstrum(x: Array, log: bool, basis: Array, dims: int) -> Array:
    """Cepstral coefficients (..., coefficient, frame) of filtered powers; `basis` is (coefficient, filter).

    Decibels are limited to 80 below the largest value of the last ``dims`` axes.
    """
    real = x.dtype.type
    if log:
        levels = np.log(x + real(1e-6))
    else:
        levels = real(10) * np.log10(np.maximum(x, real(1e-10)))
        loudest = levels.max(tuple(range(-dims, 0)), keepdims=True)
        levels = np.maximum(levels, loudest - real(80))
    # one product of the same form for each spectrogram: BLAS adds in an order that depends on shapes and strides
    flat = np.ascontiguousarray(levels).reshape(-1, *levels.shape[-2:])
    coefficients = np.empty((len(flat), len(basis), levels.shape[-1]), levels.dtype)
    for spectrum, out in zip(flat, coefficients, strict=True):
        np.matmul(basis, spectrum, out=out)
    return coefficients.reshape(*levels.shape[:-2], *coefficients.shape[-2:])


def inverse_filter_bank(
    x: Array,
    bank: Array,
    learning_rate: float,
    max_steps: int,
    loss_tolerance: float,
    change_tolerance: float,
    rng: Any,
) -> Array:
    """Estimate the spectrogram (..., frequency, frame) whose filtered values are close to x, (..., mel, frame).

    The result is that of gradient descent from random numbers. Its steps are linear, so they are not computed one by
    one: along each eigenvector of ``bank.T @ bank`` the error shrinks by a constant factor per step, and the number of
    steps follows from the losses.
    """
    op = "InverseMelScale"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    n_freqs, n_mels = bank.shape
    if x.shape[-2] != n_mels:
        raise DataError(
            f"{op}: n_mels must be equal to the penultimate dimension of input. "
            f"But got n_mels {n_mels} and {x.shape[-2]}."
        )
    x = np.ascontiguousarray(as_float(x))
    frames = x.shape[-1]
    eigenvalues, eigenvectors = np.linalg.eigh(bank.T @ bank)
    factors = 1 - learning_rate / frames * np.maximum(eigenvalues, 0)
    targets = x.reshape(-1, n_mels, frames)
    estimates = rng.random((len(targets), n_freqs, frames))
    for estimate, target in zip(estimates, targets, strict=True):
        errors = eigenvectors.T @ (target - bank.T @ estimate)
        steps = _count_steps(
            np.square(errors).sum(-1) / target.size, factors, max_steps, loss_tolerance, change_tolerance
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            progress = np.where(factors == 1, steps, (1 - factors**steps) / (1 - factors))
            estimate += bank @ (eigenvectors @ (errors * (learning_rate / frames * progress)[:, None]))
    shape = x.shape[:-2] if x.ndim > 2 else (1,)  # MindSpore's result has a leading axis of 1 then
    return np.maximum(estimates, 0).astype(x.dtype).reshape(*shape, n_freqs, frames)


def _count_steps(
    energies: Array, factors: Array, max_steps: int, loss_tolerance: float, change_tolerance: float
) -> int:
    """Number of steps until the loss is small or changes little."""
    start, size, previous_loss = 0, 64, np.inf
    squares = np.square(factors)
    while start <= max_steps:
        steps = np.arange(start, start + size)
        with np.errstate(over="ignore", invalid="ignore"):
            losses = (squares ** steps[:, None]) @ energies
            changes = np.abs(np.diff(losses, prepend=previous_loss))
        ends = np.flatnonzero((losses < loss_tolerance) | (changes < change_tolerance) | ~np.isfinite(losses))
        if len(ends):
            return min(int(steps[ends[0]]), max_steps)
        start, previous_loss, size = start + size, losses[-1], min(size * 2, 4096)
    return max_steps

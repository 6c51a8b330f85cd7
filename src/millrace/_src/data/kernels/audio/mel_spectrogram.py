"""Spectrograms through filter banks, their cepstra, and the way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .filter_banks import FilterBank
from .stft import StftParams, powers
from .validation import check_dims, check_filled, check_numbers, floating

__all__ = [
    "Bank",
    "cepstrum",
    "check_length",
    "filter_bank_spectrogram",
    "apply_filter_bank",
    "inverse_filter_bank",
]

Array = np.ndarray[Any, Any]
# a filter bank for so many frequencies and this type of numbers
Bank = Callable[[int, str], FilterBank]


def apply_filter_bank(x: Array, n_stft: int, bank: Bank) -> Array:
    """A spectrogram (..., frequency, frame) through a bank (frequency, filter)."""
    op = "MelScale"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    if x.shape[-2] != n_stft:
        raise DataError(
            f"{op}: invalid parameter, 'n_stft' should be equal to 'freq', "
            f"but got: n_stft {n_stft} while freq {x.shape[-2]}."
        )
    x = floating(x)
    with np.errstate(invalid="ignore"):
        return bank(n_stft, x.dtype.name).apply(x)


def check_length(x: Array, n_fft: int, op: str) -> None:
    """Refuse a waveform that half a frame is as long as, or longer: MindSpore does, whatever the padding."""
    if x.ndim and x.size and n_fft >= 2 * x.shape[-1]:
        raise DataError(
            f"{op}: Padding size should be less than the corresponding input dimension. "
            f"It is {n_fft // 2} for {x.shape[-1]} samples."
        )


def filter_bank_spectrogram(
    x: Array, frames: StftParams, pad: int, power: float, normalized: bool, bank: Bank, op: str
) -> Array:
    """The spectrogram of a waveform through a bank, (..., filter, frame); two-sided ones are as one-sided ones."""
    if not frames.onesided:
        frames = frames._replace(onesided=True)
    spectra = powers(x, frames, pad, power, normalized, op)
    with np.errstate(invalid="ignore", over="ignore"):
        return bank(spectra.shape[-1], spectra.dtype.name).apply(spectra.swapaxes(-1, -2))


def cepstrum(x: Array, log: bool, basis: Array, dims: int) -> Array:
    """Cepstral coefficients (..., coefficient, frame) of filtered powers; `basis` is (coefficient, filter).

    Decibels reach from the loudest of the last ``dims`` axes down to 80 below it.
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
    for one, out in zip(flat, coefficients, strict=True):
        np.matmul(basis, one, out=out)
    return coefficients.reshape(*levels.shape[:-2], *coefficients.shape[-2:])


def inverse_filter_bank(
    x: Array, bank: Array, rate: float, most: int, least_loss: float, least_change: float, draws: Any
) -> Array:
    """A spectrogram (..., frequency, frame) that the bank (frequency, mel) takes near to x, (..., mel, frame).

    It is gradient descent from random numbers. Its steps are linear, so they are not made: in the directions in which
    they are independent each shrinks its error by a factor per step, and the number of steps follows from the losses.
    """
    op = "InverseMelScale"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    n_freqs, n_mels = bank.shape
    if x.shape[-2] != n_mels:
        raise DataError(
            f"{op}: n_mels must be equal to the penultimate dimension of input. "
            f"But got n_mels {n_mels} and {x.shape[-2]}."
        )
    x = np.ascontiguousarray(floating(x))
    frames = x.shape[-1]
    strengths, directions = np.linalg.eigh(bank.T @ bank)
    shrink = 1 - rate / frames * np.maximum(strengths, 0)
    flat = x.reshape(-1, n_mels, frames)
    made = draws.random((len(flat), n_freqs, frames))
    for start, wanted in zip(made, flat, strict=True):
        errors = directions.T @ (wanted - bank.T @ start)
        steps = _steps(np.square(errors).sum(-1) / wanted.size, shrink, most, least_loss, least_change)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            walked = np.where(shrink == 1, steps, (1 - shrink**steps) / (1 - shrink))
            start += bank @ (directions @ (errors * (rate / frames * walked)[:, None]))
    shape = x.shape[:-2] if x.ndim > 2 else (1,)  # MindSpore's has a first axis then
    return np.maximum(made, 0).astype(x.dtype).reshape(*shape, n_freqs, frames)


def _steps(energies: Array, shrink: Array, most: int, least_loss: float, least_change: float) -> int:
    """After how many steps the loss is small, or changes little."""
    done, size, before = 0, 64, np.inf
    squares = np.square(shrink)
    while done <= most:
        at = np.arange(done, done + size)
        with np.errstate(over="ignore", invalid="ignore"):
            losses = (squares ** at[:, None]) @ energies
            changes = np.abs(np.diff(losses, prepend=before))
        ends = np.flatnonzero((losses < least_loss) | (changes < least_change) | ~np.isfinite(losses))
        if len(ends):
            return min(int(at[ends[0]]), most)
        done, before, size = done + size, losses[-1], min(size * 2, 4096)
    return most

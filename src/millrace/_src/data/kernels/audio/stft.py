"""Waveforms to spectrograms and back."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .validation import check_dims, check_filled, check_numbers, floating
from .window_functions import pad as padded
from .window_functions import window

__all__ = [
    "StftParams",
    "centroid",
    "check_frequencies",
    "complex_of",
    "inverse",
    "istft",
    "pairs_of",
    "powers",
    "spectrogram",
    "stft",
]

Array = np.ndarray[Any, Any]
_BLOCK = 1 << 18


class StftParams(NamedTuple):
    """How a waveform is cut into frames, and which window they get."""

    n_fft: int
    win_length: int
    hop_length: int
    kind: str
    center: bool = True
    mode: str = "reflect"
    onesided: bool = True

    def window(self, dtype: Any) -> Array:
        return window(self.kind, self.win_length, self.n_fft, np.dtype(dtype).name)


def stft(x: Array, frames: StftParams) -> Array:
    """The spectrum of each frame, (..., frame, frequency): as the transform leaves it, frequencies last."""
    return _transformed(_cut(x, frames), frames)


def _cut(x: Array, frames: StftParams) -> Array:
    """The frames of a waveform, (..., frame, sample); they overlap in memory."""
    n_fft = frames.n_fft
    if frames.hop_length == 0:
        raise DataError("hop_length can not be zero.")
    if frames.center:
        x = padded(x, n_fft // 2, n_fft // 2, frames.mode)
    count = 1 + (x.shape[-1] - n_fft) // frames.hop_length
    if count < 1:
        raise DataError(
            f"n_fft should be more than 0 and less than {x.shape[-1]}, but got n_fft: {n_fft}. "
            "That many samples there are, those that are padded too."
        )
    step = x.strides[-1]
    shape, strides = (*x.shape[:-1], count, n_fft), (*x.strides[:-1], step * frames.hop_length, step)
    return as_strided(x, shape, strides, writeable=False)


def _transformed(cut: Array, frames: StftParams) -> Array:
    fft = require("scipy.fft", extra="audio", purpose="a spectrogram")
    windowed = cut * frames.window(cut.dtype)
    made: Array = fft.rfft(windowed) if frames.onesided else fft.fft(windowed)
    return made


def spectrogram(
    x: Array, frames: StftParams, pad: int, power: float, normalized: bool, op: str = "Spectrogram"
) -> Array:
    """(..., frequency, frame) of a waveform; with power 0 the complex numbers, as a last axis of two."""
    if power == 0:
        with np.errstate(invalid="ignore", over="ignore"):
            spectrum = _transformed(_frames(x, frames, pad, op), frames)
            if normalized:
                spectrum /= _loudness(frames, spectrum.real.dtype)
        return pairs_of(spectrum.swapaxes(-1, -2))
    return np.ascontiguousarray(powers(x, frames, pad, power, normalized, op).swapaxes(-1, -2))


def powers(x: Array, frames: StftParams, pad: int, power: float, normalized: bool, op: str) -> Array:
    """The magnitudes of a waveform's spectra to a power, frequencies last: (..., frame, frequency)."""
    cut = _frames(x, frames, pad, op)
    *lead, count, n_fft = cut.shape
    made = np.empty((*lead, count, n_fft // 2 + 1 if frames.onesided else n_fft), cut.dtype)
    # some frames at a time: what is made of them on the way stays in the processor's cache
    step = max(1, _BLOCK // (math.prod(lead) * n_fft * cut.itemsize))
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, count, step):
            part = made[..., start : start + step, :]
            spectrum = _transformed(cut[..., start : start + step, :], frames)
            if normalized:
                spectrum /= _loudness(frames, cut.dtype)
            if power == 2:
                pairs = spectrum.view(cut.dtype)
                pairs *= pairs
                np.add(pairs[..., ::2], pairs[..., 1::2], out=part)
            else:
                np.abs(spectrum, out=part)
        if power not in (1, 2):
            np.power(made, made.dtype.type(power), out=made)
    return made


def _frames(x: Array, frames: StftParams, pad: int, op: str) -> Array:
    """The frames of a user's waveform; an error names the operation."""
    check_filled(x, op)
    if x.ndim == 0:
        raise DataError(f"{op}: input tensor is not in shape of <..., time>.")
    if x.dtype.kind not in "biuf":
        got = {"U": "string", "S": "bytes"}.get(x.dtype.kind, x.dtype.name)
        raise DataError(f"{op}: input tensor type should be int, float or double, but got: {got}")
    try:
        return _cut(padded(floating(x), pad, pad, "constant"), frames)
    except DataError as error:
        raise DataError(f"{op}: {error}") from None


def _loudness(frames: StftParams, dtype: Any) -> Any:
    """What a normalized spectrogram is divided by."""
    shape = frames.window("float64")
    return np.dtype(dtype).type(np.sqrt(np.square(shape).sum()))


def istft(spectrum: Array, frames: StftParams, length: int) -> Array:
    """The waveform of spectra, (..., frame, frequency): frames overlap and add, over what the windows add up to.

    A length of 0 is as many hops as there are frames but one, as in MindSpore, centred or not. Only the first half
    of two-sided spectra counts. What no window covers is 0.
    """
    fft = require("scipy.fft", extra="audio", purpose="a waveform of a spectrogram")
    n_fft, count = frames.n_fft, spectrum.shape[-2]
    parts = fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft)
    parts *= frames.window(parts.dtype)
    made = _overlapped(parts, frames.hop_length)
    start = n_fft // 2 if frames.center else 0
    end = start + (length or made.shape[-1] - n_fft)
    weights = _weights(frames, count)[start:end]
    made = made[..., start:end]
    made = np.divide(made, weights, out=np.zeros_like(made), where=weights != 0)
    return padded(made, 0, end - start - made.shape[-1], "constant")


@functools.lru_cache(maxsize=16)
def _weights(frames: StftParams, count: int) -> Array:
    """What the squares of the windows add up to; in float32 whatever the signal is, as MindSpore has it."""
    squares = np.square(frames.window(np.float32))
    return _overlapped(np.broadcast_to(squares, (count, frames.n_fft)), frames.hop_length)


def _overlapped(parts: Array, hop: int) -> Array:
    """Frames (..., frame, sample) laid over each other, each a hop behind the one before."""
    *lead, count, n_fft = parts.shape
    made = np.zeros((*lead, (count - 1) * hop + n_fft), parts.dtype)
    if hop >= n_fft:
        step = made.strides[-1]
        shape, strides = (*lead, count, n_fft), (*made.strides[:-1], step * hop, step)
        as_strided(made, shape, strides)[...] = parts
        return made
    for start in range(0, n_fft, hop):
        piece = parts[..., start : start + hop]
        width = piece.shape[-1]
        step = made.strides[-1]
        view = made[..., start:]
        target = as_strided(view, (*lead, count, width), (*view.strides[:-1], step * hop, step))
        target += piece
    return made


def inverse(
    x: Array, length: int, frames: StftParams, pad: int, normalized: bool, op: str = "InverseSpectrogram"
) -> Array:
    """The waveform of a complex spectrogram, (..., frequency, frame, 2)."""
    spectrum = complex_of(x, op, "<..., freq, time, complex=2>")
    wanted = frames.n_fft // 2 + 1 if frames.onesided else frames.n_fft
    check_frequencies(spectrum.shape[-2], wanted, op)
    if spectrum.shape[-1] == 1 and not length:
        raise DataError(f"{op}: one frame alone has no length: give the argument length.")
    if normalized:
        spectrum = spectrum * _loudness(frames, spectrum.real.dtype)
    made = istft(spectrum.swapaxes(-1, -2), frames, length + 2 * pad if length else 0)
    return made[..., pad : made.shape[-1] - pad] if pad else made


def check_frequencies(got: int, wanted: int, op: str) -> None:
    """Refuse a spectrogram of another frame length."""
    if got != wanted:
        raise DataError(
            f"{op}: the frequency of the input should equal to n_fft / 2 + 1, that is {wanted}, but got {got}."
        )


def complex_of(x: Array, op: str, wanted: str) -> Array:
    """Pairs of numbers as complex ones."""
    check_filled(x, op)
    if x.ndim < 3 or x.shape[-1] != 2:
        raise DataError(
            f"{op}: the shape of input tensor does not match the requirement of operator. "
            f"Expecting tensor in shape of {wanted}. But got shape {list(x.shape)}."
        )
    check_numbers(x, op)
    x = np.ascontiguousarray(floating(x))
    made: Array = x.view(np.complex128 if x.dtype == np.float64 else np.complex64)
    return made[..., 0]


def pairs_of(x: Array) -> Array:
    """Complex numbers as pairs."""
    x = np.ascontiguousarray(x)
    return x.view(x.real.dtype).reshape(*x.shape, 2)


def centroid(x: Array, sample_rate: int, frames: StftParams, pad: int) -> Array:
    """The mean frequency of each frame, each frequency weighing its magnitude."""
    if sample_rate <= 0:
        raise DataError(f"SpectralCentroid: 'sample_rate' must be greater than 0, got: {sample_rate}")
    check_dims(x, "SpectralCentroid")
    check_numbers(x, "SpectralCentroid")
    magnitudes = powers(x, frames, pad, 1, False, "SpectralCentroid")
    frequencies = np.linspace(0, sample_rate // 2, magnitudes.shape[-1]).astype(magnitudes.dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        made = (magnitudes * frequencies).sum(-1) / magnitudes.sum(-1)
    return made[..., None, :]

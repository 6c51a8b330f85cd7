"""Short-time Fourier transform, spectrograms and their inverse."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from millrace._src.core.errors import DataError
from millrace._src.core.optional import require

from .validation import as_float, check_dims, check_not_empty, check_numbers
from .window_functions import make_window, pad_signal

__all__ = [
    "StftParams",
    "spectral_centroid",
    "check_frequencies",
    "as_complex",
    "inverse_spectrogram",
    "istft",
    "as_real_pairs",
    "power_spectra",
    "spectrogram",
    "stft",
]

Array = np.ndarray[Any, Any]
_BLOCK = 1 << 18


class StftParams(NamedTuple):
    """Parameters of a short-time Fourier transform: frame length, hop, window and padding."""

    n_fft: int
    win_length: int
    hop_length: int
    window_type: str
    center: bool = True
    mode: str = "reflect"
    onesided: bool = True

    def window(self, dtype: Any) -> Array:
        return make_window(self.window_type, self.win_length, self.n_fft, np.dtype(dtype).name)


def stft(x: Array, params: StftParams) -> Array:
    """Short-time Fourier transform (..., frame, frequency)."""
    return _fft_frames(_split_frames(x, params), params)


def _split_frames(x: Array, params: StftParams) -> Array:
    """Split a waveform into overlapping frames (..., frame, sample), as a view."""
    n_fft = params.n_fft
    if params.hop_length == 0:
        raise DataError("hop_length can not be zero.")
    if params.center:
        x = pad_signal(x, n_fft // 2, n_fft // 2, params.mode)
    count = 1 + (x.shape[-1] - n_fft) // params.hop_length
    if count < 1:
        raise DataError(
            f"n_fft should be more than 0 and less than {x.shape[-1]}, but got n_fft: {n_fft}. "
            "That many samples there are, those that are padded too."
        )
    step = x.strides[-1]
    shape, strides = (*x.shape[:-1], count, n_fft), (*x.strides[:-1], step * params.hop_length, step)
    return as_strided(x, shape, strides, writeable=False)


def _fft_frames(frames: Array, params: StftParams) -> Array:
    fft = require("scipy.fft", extra="audio", purpose="a spectrogram")
    windowed = frames * params.window(frames.dtype)
    spectrum: Array = fft.rfft(windowed) if params.onesided else fft.fft(windowed)
    return spectrum


def spectrogram(
    x: Array, params: StftParams, pad: int, power: float, normalized: bool, op: str = "Spectrogram"
) -> Array:
    """Spectrogram (..., frequency, frame) of a waveform; power 0 gives complex numbers as a last axis of two."""
    if power == 0:
        with np.errstate(invalid="ignore", over="ignore"):
            spectrum = _fft_frames(_frame_waveform(x, params, pad, op), params)
            if normalized:
                spectrum /= _window_norm(params, spectrum.real.dtype)
        return as_real_pairs(spectrum.swapaxes(-1, -2))
    return np.ascontiguousarray(power_spectra(x, params, pad, power, normalized, op).swapaxes(-1, -2))


def power_spectra(x: Array, params: StftParams, pad: int, power: float, normalized: bool, op: str) -> Array:
    """Magnitude spectra of a waveform, raised to a power: (..., frame, frequency)."""
    frames = _frame_waveform(x, params, pad, op)
    *lead, count, n_fft = frames.shape
    magnitudes = np.empty((*lead, count, n_fft // 2 + 1 if params.onesided else n_fft), frames.dtype)
    # a block of frames at a time: intermediate results stay in the processor's cache
    step = max(1, _BLOCK // (math.prod(lead) * n_fft * frames.itemsize))
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, count, step):
            block = magnitudes[..., start : start + step, :]
            spectrum = _fft_frames(frames[..., start : start + step, :], params)
            if normalized:
                spectrum /= _window_norm(params, frames.dtype)
            if power == 2:
                pairs = spectrum.view(frames.dtype)
                pairs *= pairs
                np.add(pairs[..., ::2], pairs[..., 1::2], out=block)
            else:
                np.abs(spectrum, out=block)
        if power not in (1, 2):
            np.power(magnitudes, magnitudes.dtype.type(power), out=magnitudes)
    return magnitudes


def _frame_waveform(x: Array, params: StftParams, pad: int, op: str) -> Array:
    """Split a user's waveform into frames; an error names the operation."""
    check_not_empty(x, op)
    if x.ndim == 0:
        raise DataError(f"{op}: input tensor is not in shape of <..., time>.")
    if x.dtype.kind not in "biuf":
        got = {"U": "string", "S": "bytes"}.get(x.dtype.kind, x.dtype.name)
        raise DataError(f"{op}: input tensor type should be int, float or double, but got: {got}")
    try:
        return _split_frames(pad_signal(as_float(x), pad, pad, "constant"), params)
    except DataError as error:
        raise DataError(f"{op}: {error}") from None


def _window_norm(params: StftParams, dtype: Any) -> Any:
    """Divisor of a normalized spectrogram: the L2 norm of the window."""
    window = params.window("float64")
    return np.dtype(dtype).type(np.sqrt(np.square(window).sum()))


def istft(spectrum: Array, params: StftParams, length: int) -> Array:
    """Inverse short-time Fourier transform of (..., frame, frequency): overlap-add, divided by the sum of the windows.

    A length of 0 means one hop per frame except the last, as in MindSpore, centred or not. Only the first half of
    two-sided spectra is used. Samples that no window covers are 0.
    """
    fft = require("scipy.fft", extra="audio", purpose="a waveform of a spectrogram")
    n_fft, count = params.n_fft, spectrum.shape[-2]
    frames = fft.irfft(spectrum[..., : n_fft // 2 + 1], n_fft)
    frames *= params.window(frames.dtype)
    waveform = _overlap_add(frames, params.hop_length)
    start = n_fft // 2 if params.center else 0
    end = start + (length or waveform.shape[-1] - n_fft)
    weights = _window_sum(params, count)[start:end]
    waveform = waveform[..., start:end]
    waveform = np.divide(waveform, weights, out=np.zeros_like(waveform), where=weights != 0)
    return pad_signal(waveform, 0, end - start - waveform.shape[-1], "constant")


@functools.lru_cache(maxsize=16)
def _window_sum(params: StftParams, count: int) -> Array:
    """Overlap-added squares of the windows; in float32 for any type of the signal, as in MindSpore."""
    squares = np.square(params.window(np.float32))
    return _overlap_add(np.broadcast_to(squares, (count, params.n_fft)), params.hop_length)


def _overlap_add(frames: Array, hop: int) -> Array:
    """Overlap-add frames (..., frame, sample) at a distance of ``hop`` samples."""
    *lead, count, n_fft = frames.shape
    output = np.zeros((*lead, (count - 1) * hop + n_fft), frames.dtype)
    if hop >= n_fft:
        step = output.strides[-1]
        shape, strides = (*lead, count, n_fft), (*output.strides[:-1], step * hop, step)
        as_strided(output, shape, strides)[...] = frames
        return output
    for start in range(0, n_fft, hop):
        segment = frames[..., start : start + hop]
        width = segment.shape[-1]
        step = output.strides[-1]
        view = output[..., start:]
        target = as_strided(view, (*lead, count, width), (*view.strides[:-1], step * hop, step))
        target += segment
    return output


def inverse_spectrogram(
    x: Array, length: int, params: StftParams, pad: int, normalized: bool, op: str = "InverseSpectrogram"
) -> Array:
    """Waveform of a complex spectrogram (..., frequency, frame, 2)."""
    spectrum = as_complex(x, op, "<..., freq, time, complex=2>")
    expected = params.n_fft // 2 + 1 if params.onesided else params.n_fft
    check_frequencies(spectrum.shape[-2], expected, op)
    if spectrum.shape[-1] == 1 and not length:
        raise DataError(f"{op}: one frame alone has no length: give the argument length.")
    if normalized:
        spectrum = spectrum * _window_norm(params, spectrum.real.dtype)
    waveform = istft(spectrum.swapaxes(-1, -2), params, length + 2 * pad if length else 0)
    return waveform[..., pad : waveform.shape[-1] - pad] if pad else waveform


def check_frequencies(got: int, expected: int, op: str) -> None:
    """Raise an error for a spectrogram of another frame length."""
    if got != expected:
        raise DataError(
            f"{op}: the frequency of the input should equal to n_fft / 2 + 1, that is {expected}, but got {got}."
        )


def as_complex(x: Array, op: str, expected_shape: str) -> Array:
    """Convert pairs (real, imaginary) on the last axis to complex numbers."""
    check_not_empty(x, op)
    if x.ndim < 3 or x.shape[-1] != 2:
        raise DataError(
            f"{op}: the shape of input tensor does not match the requirement of operator. "
            f"Expecting tensor in shape of {expected_shape}. But got shape {list(x.shape)}."
        )
    check_numbers(x, op)
    x = np.ascontiguousarray(as_float(x))
    values: Array = x.view(np.complex128 if x.dtype == np.float64 else np.complex64)
    return values[..., 0]


def as_real_pairs(x: Array) -> Array:
    """Convert complex numbers to pairs (real, imaginary) on the last axis."""
    x = np.ascontiguousarray(x)
    return x.view(x.real.dtype).reshape(*x.shape, 2)


def spectral_centroid(x: Array, sample_rate: int, params: StftParams, pad: int) -> Array:
    """Spectral centroid: mean frequency of each frame, weighted by magnitude."""
    if sample_rate <= 0:
        raise DataError(f"SpectralCentroid: 'sample_rate' must be greater than 0, got: {sample_rate}")
    check_dims(x, "SpectralCentroid")
    check_numbers(x, "SpectralCentroid")
    magnitudes = power_spectra(x, params, pad, 1, False, "SpectralCentroid")
    frequencies = np.linspace(0, sample_rate // 2, magnitudes.shape[-1]).astype(magnitudes.dtype)
    with np.errstate(invalid="ignore", divide="ignore"):
        centroids = (magnitudes * frequencies).sum(-1) / magnitudes.sum(-1)
    return centroids[..., None, :]

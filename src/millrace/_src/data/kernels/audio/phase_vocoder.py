"""Phase vocoder, pitch shift and Griffin-Lim phase reconstruction."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .resample import resample
from .stft import StftParams, as_complex, as_real_pairs, check_frequencies, istft, stft
from .validation import as_float, as_float_waveform, check_dims, check_not_empty, check_numbers
from .window_functions import pad_signal

__all__ = ["griffin_lim", "pitch_shift", "phase_vocoder"]

Array = np.ndarray[Any, Any]
_COMPLEX_SHAPE = "<..., freq, num_frame, complex=2>"


def phase_vocoder(x: Array, rate: float, advance: Array, op: str) -> Array:
    """Speed up a complex spectrogram (..., frequency, frame, 2) by a rate, at the same pitch.

    ``advance`` is the expected phase advance of each frequency from one frame to the next.
    """
    spectrum = as_complex(x, op, _COMPLEX_SHAPE)
    if is_unit_rate(rate):
        return as_float(x)
    if len(advance) != spectrum.shape[-2]:
        raise DataError(
            f"{op}: invalid parameter, 'first dimension of 'phase_advance'' should be equal to 'freq dimension "
            f"length of input tensor', but got: first dimension of 'phase_advance' {len(advance)} while freq "
            f"dimension length of input tensor {spectrum.shape[-2]}."
        )
    return as_real_pairs(_stretch_time(spectrum, rate, advance))


def is_unit_rate(rate: float) -> bool:
    """Whether a rate is 1 within the precision of float32."""
    return bool(abs(np.float32(rate) - 1) <= np.finfo(np.float32).eps)


def phase_advances(hop_length: int, n_freq: int) -> Array:
    """Phase advance of each frequency over one hop, (frequency, 1)."""
    return np.linspace(0, math.pi * hop_length, n_freq)[:, None]


def _stretch_time(spectrum: Array, rate: float, advance: Array) -> Array:
    """Interpolate the magnitudes of neighbouring frames and accumulate their phases.

    Phases are summed in float64: they grow so large that float32 would lose the digits that matter.
    """
    count = spectrum.shape[-1]
    times = np.arange(int(count / rate) + 2, dtype=np.float32) * np.float32(rate)
    times = times[times < count]
    indices = times.astype(np.int64)
    fraction = (times - indices).astype(spectrum.real.dtype)
    padded = np.concatenate([spectrum, np.zeros_like(spectrum[..., :1])], -1)
    angles, magnitudes = np.angle(padded), np.abs(padded)
    phases = np.empty((*spectrum.shape[:-1], len(times)), np.float64)
    phases[..., 0] = angles[..., 0]
    increments = angles[..., indices[:-1] + 1] - advance - angles[..., indices[:-1]]
    phases[..., 1:] = increments - 2 * math.pi * np.round(increments / (2 * math.pi)) + advance
    np.cumsum(phases, -1, out=phases)
    magnitude = fraction * magnitudes[..., indices + 1] + (1 - fraction) * magnitudes[..., indices]
    stretched = np.empty(phases.shape, spectrum.dtype)
    np.multiply(magnitude, np.cos(phases), out=stretched.real, casting="same_kind")
    np.multiply(magnitude, np.sin(phases), out=stretched.imag, casting="same_kind")
    return stretched


def pitch_shift(x: Array, sample_rate: int, steps: int, per_octave: int, params: StftParams) -> Array:
    """Shift the pitch of a waveform by some steps; its length stays the same."""
    op = "PitchShift"
    x = as_float_waveform(x, op)
    length = x.shape[-1]
    rate = float(np.float32(2.0 ** float(np.float32(-steps / per_octave))))
    try:
        spectrum = stft(x, params).swapaxes(-1, -2)
    except DataError as error:
        raise DataError(f"{op}: {error}") from None
    if not is_unit_rate(rate):
        spectrum = _stretch_time(spectrum, rate, phase_advances(params.hop_length, spectrum.shape[-2]))
    shifted = istft(spectrum.swapaxes(-1, -2), params, max(round(length / rate), 1))
    shifted = resample(shifted, int(sample_rate / rate), sample_rate, "sinc_interpolation", 6, 0.99, 0.0, op)
    return pad_signal(shifted[..., :length], 0, length - shifted.shape[-1], "constant")


def griffin_lim(
    x: Array, params: StftParams, n_iter: int, power: float, momentum: float, length: int, rng: Any
) -> Array:
    """Waveform for a spectrogram (..., frequency, frame), by Griffin-Lim phase reconstruction.

    Without ``rng`` all phases start at 0.
    """
    op = "GriffinLim"
    check_not_empty(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    check_frequencies(x.shape[-2], params.n_fft // 2 + 1, op)
    if x.shape[-1] == 1 and not length:
        raise DataError(f"{op}: one frame alone has no length: give the argument length.")
    x = as_float(x)
    real = x.dtype.type
    magnitudes = np.power(x, real(1 / power)).swapaxes(-1, -2)
    phases: Any = real(1)
    if rng is not None:
        pairs = rng.random((*magnitudes.shape, 2), x.dtype)
        phases = pairs[..., 0] + real(1) * 1j * pairs[..., 1]
    default_length = (x.shape[-1] - 1) * params.hop_length
    # a length with another number of frames applies only to the final waveform
    inner_length = length if default_length <= length < default_length + params.hop_length else default_length
    momentum_weight = real(momentum / (1 + momentum))
    previous: Any = None
    for _ in range(n_iter):
        rebuilt = stft(istft(magnitudes * phases, params, inner_length), params)
        phases = (
            rebuilt
            if previous is None or momentum_weight == 0
            else rebuilt + (rebuilt - previous) * momentum_weight
        )
        phases = phases / (np.abs(phases) + real(1e-16))
        previous = rebuilt
    return istft(magnitudes * phases, params, length)

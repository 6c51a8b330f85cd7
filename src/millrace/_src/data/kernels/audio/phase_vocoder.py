"""Phases: spectrograms stretched in time, pitches shifted, phases found for magnitudes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .resample import resample
from .stft import StftParams, check_frequencies, complex_of, istft, pairs_of, stft
from .validation import as_float_waveform, check_dims, check_filled, check_numbers, floating
from .window_functions import pad

__all__ = ["griffin_lim", "pitch_shift", "phase_vocoder"]

Array = np.ndarray[Any, Any]
_PAIRS = "<..., freq, num_frame, complex=2>"


def phase_vocoder(x: Array, rate: float, advance: Array, op: str) -> Array:
    """A complex spectrogram (..., frequency, frame, 2) faster by a rate.

    ``advance`` is by how much the phase of each frequency grows from one frame to the next.
    """
    spectrum = complex_of(x, op, _PAIRS)
    if is_one(rate):
        return floating(x)
    if len(advance) != spectrum.shape[-2]:
        raise DataError(
            f"{op}: invalid parameter, 'first dimension of 'phase_advance'' should be equal to 'freq dimension "
            f"length of input tensor', but got: first dimension of 'phase_advance' {len(advance)} while freq "
            f"dimension length of input tensor {spectrum.shape[-2]}."
        )
    return pairs_of(_stretched(spectrum, rate, advance))


def is_one(rate: float) -> bool:
    """Whether a rate changes nothing."""
    return bool(abs(np.float32(rate) - 1) <= np.finfo(np.float32).eps)


def advances(hop_length: int, n_freq: int) -> Array:
    """How much phases grow over a hop, (frequency, 1)."""
    return np.linspace(0, math.pi * hop_length, n_freq)[:, None]


def _stretched(spectrum: Array, rate: float, advance: Array) -> Array:
    """Frames in between by the sizes of their neighbours, each phase what the one before grew by.

    Phases are summed in float64: they grow so large that float32 would lose what matters.
    """
    count = spectrum.shape[-1]
    times = np.arange(int(count / rate) + 2, dtype=np.float32) * np.float32(rate)
    times = times[times < count]
    first = times.astype(np.int64)
    share = (times - first).astype(spectrum.real.dtype)
    wide = np.concatenate([spectrum, np.zeros_like(spectrum[..., :1])], -1)
    angles, sizes = np.angle(wide), np.abs(wide)
    turns = np.empty((*spectrum.shape[:-1], len(times)), np.float64)
    turns[..., 0] = angles[..., 0]
    grown = angles[..., first[:-1] + 1] - advance - angles[..., first[:-1]]
    turns[..., 1:] = grown - 2 * math.pi * np.round(grown / (2 * math.pi)) + advance
    np.cumsum(turns, -1, out=turns)
    size = share * sizes[..., first + 1] + (1 - share) * sizes[..., first]
    made = np.empty(turns.shape, spectrum.dtype)
    np.multiply(size, np.cos(turns), out=made.real, casting="same_kind")
    np.multiply(size, np.sin(turns), out=made.imag, casting="same_kind")
    return made


def pitch_shift(x: Array, sample_rate: int, steps: int, per_octave: int, frames: StftParams) -> Array:
    """A waveform of the same length, higher by some steps."""
    op = "PitchShift"
    x = as_float_waveform(x, op)
    length = x.shape[-1]
    rate = float(np.float32(2.0 ** float(np.float32(-steps / per_octave))))
    try:
        spectrum = stft(x, frames).swapaxes(-1, -2)
    except DataError as error:
        raise DataError(f"{op}: {error}") from None
    if not is_one(rate):
        spectrum = _stretched(spectrum, rate, advances(frames.hop_length, spectrum.shape[-2]))
    made = istft(spectrum.swapaxes(-1, -2), frames, max(round(length / rate), 1))
    made = resample(made, int(sample_rate / rate), sample_rate, "sinc_interpolation", 6, 0.99, 0.0, op)
    return pad(made[..., :length], 0, length - made.shape[-1], "constant")


def griffin_lim(
    x: Array, frames: StftParams, n_iter: int, power: float, momentum: float, length: int, draws: Any
) -> Array:
    """A waveform whose spectrogram is like x, (..., frequency, frame): phases that a waveform can have, by turns.

    Without ``draws`` all phases begin at 0.
    """
    op = "GriffinLim"
    check_filled(x, op)
    check_dims(x, op, 2, "<..., freq, time>")
    check_numbers(x, op)
    check_frequencies(x.shape[-2], frames.n_fft // 2 + 1, op)
    if x.shape[-1] == 1 and not length:
        raise DataError(f"{op}: one frame alone has no length: give the argument length.")
    x = floating(x)
    real = x.dtype.type
    sizes = np.power(x, real(1 / power)).swapaxes(-1, -2)
    phases: Any = real(1)
    if draws is not None:
        pairs = draws.random((*sizes.shape, 2), x.dtype)
        phases = pairs[..., 0] + real(1) * 1j * pairs[..., 1]
    natural = (x.shape[-1] - 1) * frames.hop_length
    # a length that has another number of frames is only for the end
    inner = length if natural <= length < natural + frames.hop_length else natural
    share = real(momentum / (1 + momentum))
    before: Any = None
    for _ in range(n_iter):
        rebuilt = stft(istft(sizes * phases, frames, inner), frames)
        phases = rebuilt if before is None or share == 0 else rebuilt + (rebuilt - before) * share
        phases = phases / (np.abs(phases) + real(1e-16))
        before = rebuilt
    return istft(sizes * phases, frames, length)

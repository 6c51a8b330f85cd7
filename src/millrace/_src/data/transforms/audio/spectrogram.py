"""Spectrograms, their inverse, the spectral centroid and Griffin-Lim."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.audio import phase_vocoder as phase
from millrace._src.data.kernels.audio import stft as spectrum
from millrace._src.data.kernels.audio.enums import BorderType, WindowType
from millrace._src.data.kernels.audio.stft import StftParams
from millrace._src.data.transforms.argument_types import NonNegativeInt, PositiveInt

from .argument_types import NonNegativeReal, PositiveReal, check_window
from .base import AudioTensorOperation, batch_in_blocks, row_rngs

__all__ = ["GriffinLim", "InverseSpectrogram", "SpectralCentroid", "Spectrogram"]


@public("dataset.audio", "dataset.audio.transforms")
class Spectrogram(AudioTensorOperation):
    """Compute the spectrogram <..., freq, time> of a waveform <..., time>, by a short-time Fourier transform.

    With power 0 it is complex, as a last axis of two. A waveform shorter than the padding is reflected repeatedly; a
    single sample cannot be reflected (MindSpore hangs).

    >>> import numpy as np
    >>> Spectrogram(n_fft=8)(np.ones(32, np.float32)).shape
    (5, 9)
    """

    @checked
    def __init__(
        self,
        n_fft: PositiveInt = 400,
        win_length: PositiveInt | None = None,
        hop_length: PositiveInt | None = None,
        pad: NonNegativeInt = 0,
        window: WindowType = WindowType.HANN,
        power: NonNegativeReal = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ) -> None:
        check_window(win_length, n_fft)
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2
        self.pad = pad
        self.window = window
        self.power = power
        self.normalized = normalized
        self.center = center
        self.pad_mode = pad_mode
        self.onesided = onesided

    def as_input(self, value: Any) -> Any:
        return np.asarray(value)  # MindSpore accepts lists here

    def row(self, x: Any) -> Any:
        return spectrum.spectrogram(x, frames_of(self), self.pad, self.power, self.normalized)

    batch = batch_in_blocks


def frames_of(op: Any) -> StftParams:
    """Parameters of the short-time Fourier transform of a transform with Spectrogram's arguments."""
    return StftParams(op.n_fft, op.win_length, op.hop_length, op.window, op.center, op.pad_mode, op.onesided)


@public("dataset.audio", "dataset.audio.transforms")
class InverseSpectrogram(AudioTensorOperation):
    """Compute the waveform <..., time> of a complex spectrogram <..., freq, time, 2>, by an inverse STFT.

    Correct for any number of frames: MindSpore adds frames of long spectrograms (over 163 of n_fft 400 in float32)
    onto the first ones. Supports `pad` without `length`, which MindSpore refuses, and odd n_fft.

    >>> import numpy as np
    >>> wave = np.sin(np.arange(100, dtype=np.float32))
    >>> restored = InverseSpectrogram(length=100, n_fft=16)(Spectrogram(n_fft=16, power=0)(wave))
    >>> bool(np.abs(restored - wave).max() < 1e-6)
    True
    """

    dims = 3

    @checked
    def __init__(
        self,
        length: NonNegativeInt | None = None,
        n_fft: PositiveInt = 400,
        win_length: PositiveInt | None = None,
        hop_length: PositiveInt | None = None,
        pad: NonNegativeInt = 0,
        window: WindowType = WindowType.HANN,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
    ) -> None:
        check_window(win_length, n_fft)
        self.length = length or 0
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2
        self.pad = pad
        self.window = window
        self.normalized = normalized
        self.center = center
        self.pad_mode = pad_mode
        self.onesided = onesided

    def row(self, x: Any) -> Any:
        return spectrum.inverse_spectrogram(x, self.length, frames_of(self), self.pad, self.normalized)

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class SpectralCentroid(AudioTensorOperation):
    """Compute the spectral centroid <..., 1, time> of each frame of a waveform, in hertz.

    >>> import numpy as np
    >>> tone = np.sin(np.arange(1600) * (2 * np.pi * 1000 / 16000))
    >>> SpectralCentroid(16000)(tone)[0, 4].round()
    np.float64(1000.0)
    """

    @checked
    def __init__(
        self,
        sample_rate: NonNegativeInt,
        n_fft: PositiveInt = 400,
        win_length: PositiveInt | None = None,
        hop_length: PositiveInt | None = None,
        pad: NonNegativeInt = 0,
        window: WindowType = WindowType.HANN,
    ) -> None:
        check_window(win_length, n_fft)
        self.sample_rate = sample_rate
        self.pad = pad
        self.window = window
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2

    def as_input(self, value: Any) -> Any:
        return np.asarray(value)  # MindSpore accepts lists here

    def row(self, x: Any) -> Any:
        frames = StftParams(self.n_fft, self.win_length, self.hop_length, self.window)
        return spectrum.spectral_centroid(x, self.sample_rate, frames, self.pad)

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class GriffinLim(AudioTensorOperation):
    """Compute a waveform <..., time> from a spectrogram <..., freq, time>, by Griffin-Lim phase reconstruction.

    Differs from MindSpore where that loses information: leading dimensions are kept, the frames of long spectrograms
    (over 163 of n_fft 400 in float32) are not added onto the first ones, and a `length` that would need another number
    of frames only truncates or pads the end.

    >>> import numpy as np
    >>> wave = GriffinLim(n_fft=16, rand_init=False)(np.ones((9, 5), np.float32))
    >>> wave.shape
    (32,)
    """

    dims = 2

    @property
    def random(self) -> bool:  # type: ignore[override]
        return bool(self.rand_init)

    @checked
    def __init__(
        self,
        n_fft: PositiveInt = 400,
        n_iter: PositiveInt = 32,
        win_length: NonNegativeInt | None = None,
        hop_length: NonNegativeInt | None = None,
        window_type: WindowType = WindowType.HANN,
        power: PositiveReal = 2.0,
        momentum: NonNegativeReal = 0.99,
        length: NonNegativeInt | None = None,
        rand_init: bool = True,
    ) -> None:
        check_window(win_length, n_fft)
        self.n_fft = n_fft
        self.n_iter = n_iter
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2
        self.window_type = window_type
        self.power = power
        self.momentum = momentum
        self.length = length or 0
        self.rand_init = rand_init

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (row_rngs(rng),)

    def row(self, x: Any, rng: RandomStream | None = None) -> Any:
        frames = StftParams(self.n_fft, self.win_length, self.hop_length, self.window_type)
        start = rng.generator(0) if rng is not None else None
        return phase.griffin_lim(x, frames, self.n_iter, self.power, self.momentum, self.length, start)

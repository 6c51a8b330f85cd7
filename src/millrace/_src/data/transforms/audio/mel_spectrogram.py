"""Mel spectrograms and the inverse mel scale."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.audio import filter_banks as banks
from millrace._src.data.kernels.audio import mel_spectrogram as mel
from millrace._src.data.kernels.audio.enums import BorderType, MelType, NormType, WindowType
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    NonNegativeInt,
    PositiveInt,
    check_interval,
)

from .argument_types import NonNegativeReal, PositiveReal, Real, check_window
from .base import AudioTensorOperation, batch_any_leading_dims, batch_in_blocks, row_rngs
from .spectrogram import frames_of

__all__ = ["InverseMelScale", "MelScale", "MelSpectrogram", "check_mel_range"]


@public("dataset.audio", "dataset.audio.transforms")
class MelScale(AudioTensorOperation):
    """Convert a spectrogram <..., freq, time> to the mel scale, <..., mel, time>.

    >>> import numpy as np
    >>> MelScale(n_mels=4, n_stft=9)(np.ones((9, 5), np.float32)).shape
    (4, 5)
    """

    dims = 2

    @checked
    def __init__(
        self,
        n_mels: PositiveInt = 128,
        sample_rate: PositiveInt = 16000,
        f_min: Real = 0.0,
        f_max: PositiveReal | None = None,
        n_stft: PositiveInt = 201,
        norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ) -> None:
        check_mel_range(f_min, f_max, sample_rate)
        self.n_mels = n_mels
        self.sample_rate = sample_rate
        self.f_min = f_min
        self.f_max = f_max if f_max is not None else sample_rate // 2
        self.n_stft = n_stft
        self.norm = norm
        self.mel_type = mel_type

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        return banks.mel_filter_bank(
            n_freqs, self.f_min, self.f_max, self.n_mels, self.sample_rate, self.norm, self.mel_type, dtype
        )

    def row(self, x: Any) -> Any:
        return mel.apply_filter_bank(x, self.n_stft, self._bank)

    batch = batch_any_leading_dims


def check_mel_range(f_min: float, f_max: float | None, sample_rate: int) -> None:
    if f_max is not None and f_min >= f_max:
        raise ArgumentValueError("MelScale: f_max should be greater than f_min.")
    if f_max is None and f_min >= sample_rate // 2:
        raise ArgumentValueError(
            "MelScale: sample_rate // 2 should be greater than f_min when f_max is set to None."
        )


@public("dataset.audio", "dataset.audio.transforms")
class MelSpectrogram(AudioTensorOperation):
    """Compute the mel spectrogram <..., mel, time> of a waveform <..., time>.

    float64 is computed as float64, where MindSpore's results are wrong; `onesided` makes no difference, as the mel
    scale ends at half the sample rate (MindSpore aborts at False).

    >>> import numpy as np
    >>> MelSpectrogram(n_fft=64, n_mels=8)(np.ones(320, np.float32)).shape
    (8, 11)
    """

    @checked
    def __init__(
        self,
        sample_rate: NonNegativeInt = 16000,
        n_fft: PositiveInt = 400,
        win_length: PositiveInt | None = None,
        hop_length: PositiveInt | None = None,
        f_min: float = 0.0,
        f_max: NonNegativeReal | None = None,
        pad: NonNegativeInt = 0,
        n_mels: NonNegativeInt = 128,
        window: WindowType = WindowType.HANN,
        power: PositiveReal = 2.0,
        normalized: bool = False,
        center: bool = True,
        pad_mode: BorderType = BorderType.REFLECT,
        onesided: bool = True,
        norm: NormType = NormType.NONE,
        mel_scale: MelType = MelType.HTK,
    ) -> None:
        if f_max is not None and f_min > f_max:
            raise ArgumentValueError(
                f"f_max should be greater than or equal to f_min, but got f_min: {f_min} and f_max: {f_max}."
            )
        if f_max is None and f_min >= sample_rate // 2:
            raise ArgumentValueError(
                "MelSpectrogram: sample_rate // 2 should be greater than f_min when f_max is set to None, "
                f"but got f_min: {f_min}."
            )
        check_window(win_length, n_fft)
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.win_length = win_length or n_fft
        self.hop_length = hop_length or self.win_length // 2
        self.f_min = f_min
        self.f_max = f_max if f_max is not None else sample_rate // 2
        self.pad = pad
        self.n_mels = n_mels
        self.window = window
        self.power = power
        self.normalized = normalized
        self.center = center
        self.pad_mode = pad_mode
        self.onesided = onesided
        self.norm = norm
        self.mel_scale = mel_scale

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        return banks.mel_filter_bank(
            n_freqs, self.f_min, self.f_max, self.n_mels, self.sample_rate, self.norm, self.mel_scale, dtype
        )

    def row(self, x: Any) -> Any:
        mel.check_length(x, self.n_fft, "MelSpectrogram")
        return mel.filter_bank_spectrogram(
            x, frames_of(self), self.pad, self.power, self.normalized, self._bank, "MelSpectrogram"
        )

    batch = batch_in_blocks


@public("dataset.audio", "dataset.audio.transforms")
class InverseMelScale(AudioTensorOperation):
    """Estimate a spectrogram <..., freq, time> from a mel spectrogram <..., mel, time>.

    The result is that of gradient descent from random numbers, computed in closed form; `sgd_momentum` has no effect,
    as in MindSpore. A mel spectrogram of two dimensions gives a result with a first dimension of 1, as in MindSpore.

    >>> import numpy as np
    >>> mels = MelScale(n_mels=4, n_stft=9)(np.ones((2, 9, 5), np.float32))
    >>> InverseMelScale(9, n_mels=4)(mels).shape
    (2, 9, 5)
    """

    dims = 2
    random = True

    @checked
    def __init__(
        self,
        n_stft: PositiveInt,
        n_mels: PositiveInt = 128,
        sample_rate: PositiveInt = 16000,
        f_min: Real = 0.0,
        f_max: PositiveReal | None = None,
        max_iter: PositiveInt = 100000,
        tolerance_loss: PositiveReal = 1e-5,
        tolerance_change: PositiveReal = 1e-8,
        sgdargs: Any = None,
        norm: NormType = NormType.NONE,
        mel_type: MelType = MelType.HTK,
    ) -> None:
        check_mel_range(f_min, f_max, sample_rate)
        if sgdargs is not None:
            for name in ("sgd_lr", "sgd_momentum"):
                check_type(sgdargs[name], (int, float), name)
                check_interval(sgdargs[name], 0, FLOAT_MAX, name)
        self.n_stft = n_stft
        self.n_mels = n_mels
        self.sample_rate = sample_rate
        self.f_min = f_min
        self.f_max = f_max if f_max is not None else sample_rate // 2
        self.max_iter = max_iter
        self.tolerance_loss = tolerance_loss
        self.tolerance_change = tolerance_change
        self.sgdargs = {"sgd_lr": 0.1, "sgd_momentum": 0.9} if sgdargs is None else dict(sgdargs)
        self.norm = norm
        self.mel_type = mel_type

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return (row_rngs(rng),)

    def row(self, x: Any, rng: RandomStream) -> Any:
        limits = (self.f_min, self.f_max, self.n_mels, self.sample_rate)
        bank = banks.mel_filter_bank(self.n_stft, *limits, self.norm, self.mel_type, "float64").weights
        return mel.inverse_filter_bank(
            x,
            bank,
            self.sgdargs["sgd_lr"],
            self.max_iter,
            self.tolerance_loss,
            self.tolerance_change,
            rng.generator(0),
        )

"""Cepstral coefficients: MFCC and LFCC."""

from __future__ import annotations

from typing import Any, ClassVar

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import filter_banks as banks
from millrace._src.data.kernels.audio import mel_spectrogram as mel
from millrace._src.data.kernels.audio.enums import BorderType, MelType, NormMode, NormType, WindowType
from millrace._src.data.kernels.audio.stft import StftParams
from millrace._src.data.transforms.argument_types import NonNegativeInt, PositiveInt
from millrace._src.data.transforms.tensor_operation import TensorOperation

from .argument_types import NonNegativeReal
from .base import AudioTensorOperation, batch_in_blocks
from .mel_spectrogram import MelSpectrogram
from .spectrogram import Spectrogram

__all__ = ["LFCC", "MFCC"]


def _check_dct(dct_type: Any) -> None:
    if dct_type != 2:
        raise ArgumentValueError(f"Input dct_type must be 2, but got : {dct_type}.")


def _spectrogram_arguments(arguments: Any, name: str, **defaults: Any) -> dict[str, Any]:
    """Arguments of the spectrogram of a cepstrum: the given ones, MindSpore's defaults for the others."""
    if arguments is not None:
        check_type(arguments, (dict,), name)
    settings = defaults | (arguments or {})
    if settings.get("win_length") is None:
        settings["win_length"] = settings["n_fft"]
    if settings.get("hop_length") is None:
        settings["hop_length"] = settings["win_length"] // 2
    return settings


_SPECTRUM: dict[str, Any] = {
    "n_fft": 400,
    "win_length": None,
    "hop_length": None,
    "pad": 0,
    "window": WindowType.HANN,
    "power": 2.0,
    "normalized": False,
    "center": True,
    "pad_mode": BorderType.REFLECT,
    "onesided": True,
}


class _CepstralOperation(AudioTensorOperation):
    """Base of MFCC and LFCC: their settings are a dict, and decibels are limited per row."""

    _is_builtin = True

    def _cepstrum(self, x: Any, dims: int) -> Any:
        raise TypeError(f"{type(self).__name__} does not define _cepstrum()")

    # the argument that holds arguments of a spectrogram, and the class of the spectrogram
    _inner: ClassVar[tuple[str, type[TensorOperation]]]

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        from millrace._src.data.transforms.serialization import convert_arguments  # imports this module

        name, spectrogram = cls._inner
        inner = fields.get(name)
        if isinstance(inner, dict):
            fields = fields | {name: convert_arguments(spectrogram, inner)}
        return super().from_fields(fields)

    def _filter_bank_spectrogram(self, x: Any, settings: dict[str, Any], bank: mel.FilterBankFactory) -> Any:
        frames = StftParams(
            settings["n_fft"],
            settings["win_length"],
            settings["hop_length"],
            settings["window"],
            settings["center"],
            settings["pad_mode"],
        )
        op = type(self).__name__
        return mel.filter_bank_spectrogram(
            x, frames, settings["pad"], settings["power"], settings["normalized"], bank, op
        )

    def row(self, x: Any) -> Any:
        return self._cepstrum(x, min(x.ndim + 1, 3))

    def batch(self, xs: Any) -> Any:
        return batch_in_blocks(self, xs, lambda block: self._cepstrum(block, min(block.ndim, 3)))


@public("dataset.audio", "dataset.audio.transforms")
class MFCC(_CepstralOperation):
    """Compute mel-frequency cepstral coefficients <..., n_mfcc, time> of a waveform <..., time>.

    `melkwargs` are arguments of MelSpectrogram; omitted ones have MindSpore's defaults (MindSpore requires all of
    them). float64 is computed as float64, where MindSpore's results are wrong.

    >>> import numpy as np
    >>> MFCC(n_mfcc=4, melkwargs={"n_fft": 64, "n_mels": 8})(np.ones(320, np.float32)).shape
    (4, 11)
    """

    _inner = ("melkwargs", MelSpectrogram)

    @checked
    def __init__(
        self,
        sample_rate: NonNegativeInt = 16000,
        n_mfcc: NonNegativeInt = 40,
        dct_type: Any = 2,
        norm: NormMode = NormMode.ORTHO,
        log_mels: bool = False,
        melkwargs: Any = None,
    ) -> None:
        _check_dct(dct_type)
        self.sample_rate = sample_rate
        self.n_mfcc = n_mfcc
        self.dct_type = dct_type
        self.norm = norm
        self.log_mels = log_mels
        mel_defaults = {
            "f_min": 0.0,
            "f_max": None,
            "n_mels": 128,
            "norm": NormType.NONE,
            "mel_scale": MelType.HTK,
        }
        self.melkwargs = _spectrogram_arguments(melkwargs, "melkwargs", **_SPECTRUM, **mel_defaults)
        MelSpectrogram(sample_rate, **self.melkwargs)  # checks the arguments
        if self.melkwargs["f_max"] is None:
            self.melkwargs["f_max"] = sample_rate // 2
        if self.melkwargs["n_mels"] < n_mfcc:
            raise ArgumentValueError(
                "Input n_mels should be greater than or equal to n_mfcc, "
                f"but got n_mfcc: {n_mfcc} and n_mels: {self.melkwargs['n_mels']}."
            )

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        settings = self.melkwargs
        return banks.mel_filter_bank(
            n_freqs,
            settings["f_min"],
            settings["f_max"],
            settings["n_mels"],
            self.sample_rate,
            settings["norm"],
            settings["mel_scale"],
            dtype,
        )

    def _cepstrum(self, x: Any, dims: int) -> Any:
        mel.check_length(x, self.melkwargs["n_fft"], "MFCC")
        spectrogram = self._filter_bank_spectrogram(x, self.melkwargs, self._bank)
        basis = banks.dct_basis(self.n_mfcc, spectrogram.shape[-2], self.norm, spectrogram.dtype.name)
        return mel.cepstrum(spectrogram, self.log_mels, basis, dims)


@public("dataset.audio", "dataset.audio.transforms")
class LFCC(_CepstralOperation):
    """Compute linear-frequency cepstral coefficients <..., n_lfcc, time> of a waveform <..., time>.

    `speckwargs` are arguments of Spectrogram; omitted ones have MindSpore's defaults (MindSpore requires all of them).
    float64 is computed as float64, where MindSpore's results are wrong.

    >>> import numpy as np
    >>> LFCC(n_filter=8, n_lfcc=4, speckwargs={"n_fft": 64})(np.ones(320, np.float32)).shape
    (4, 11)
    """

    _inner = ("speckwargs", Spectrogram)

    @checked
    def __init__(
        self,
        sample_rate: NonNegativeInt = 16000,
        n_filter: PositiveInt = 128,
        n_lfcc: PositiveInt = 40,
        f_min: NonNegativeReal = 0.0,
        f_max: NonNegativeReal | None = None,
        dct_type: Any = 2,
        norm: NormMode = NormMode.ORTHO,
        log_lf: bool = False,
        speckwargs: Any = None,
    ) -> None:
        if f_max is not None and f_min > f_max:
            raise ArgumentValueError(
                f"f_max should be greater than or equal to f_min, but got f_min: {f_min} and f_max: {f_max}."
            )
        if f_max is None and f_min >= sample_rate // 2:
            raise ArgumentValueError(
                "Input sample_rate // 2 should be greater than f_min when f_max is set to None, "
                f"but got f_min: {f_min} and sample_rate: {sample_rate}."
            )
        _check_dct(dct_type)
        self.sample_rate = sample_rate
        self.n_filter = n_filter
        self.n_lfcc = n_lfcc
        self.f_min = f_min
        self.f_max = f_max if f_max is not None else sample_rate // 2
        self.dct_type = dct_type
        self.norm = norm
        self.log_lf = log_lf
        self.speckwargs = settings = _spectrogram_arguments(speckwargs, "speckwargs", **_SPECTRUM)
        if settings["win_length"] > settings["n_fft"]:
            raise ArgumentValueError(
                "win_length must be less than or equal to n_fft, "
                f"but got win_length: {settings['win_length']} and n_fft: {settings['n_fft']}."
            )
        Spectrogram(**settings)  # checks the arguments
        if settings["n_fft"] < n_lfcc:
            raise ArgumentValueError(
                "n_fft should be greater than or equal to n_lfcc, "
                f"but got n_fft: {settings['n_fft']} and n_lfcc: {n_lfcc}."
            )

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        return banks.linear_filter_bank(
            n_freqs, self.f_min, self.f_max, self.n_filter, self.sample_rate, dtype
        )

    def _cepstrum(self, x: Any, dims: int) -> Any:
        spectrogram = self._filter_bank_spectrogram(x, self.speckwargs, self._bank)
        basis = banks.dct_basis(self.n_lfcc, spectrogram.shape[-2], self.norm, spectrogram.dtype.name)
        return mel.cepstrum(spectrogram, self.log_lf, basis, dims)

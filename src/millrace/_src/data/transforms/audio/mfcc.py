"""The cepstra of speech recognition."""

from __future__ import annotations

from typing import Any, ClassVar

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentValueError
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


def _settings(given: Any, name: str, **defaults: Any) -> dict[str, Any]:
    """The arguments of the spectrogram that a cepstrum is of: those given, MindSpore's defaults for the others."""
    if given is not None:
        check_type(given, (dict,), name)
    made = defaults | (given or {})
    if made.get("win_length") is None:
        made["win_length"] = made["n_fft"]
    if made.get("hop_length") is None:
        made["hop_length"] = made["win_length"] // 2
    return made


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
    """What the two kinds share: their settings are a dict, and decibels are cut off per row."""

    _is_builtin = True

    def _found(self, x: Any, dims: int) -> Any:
        raise TypeError(f"{type(self).__name__} does not define _found()")

    # the argument that holds arguments of a spectrogram, and whose they are
    _inner: ClassVar[tuple[str, type[TensorOperation]]]

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        from millrace._src.data.transforms.serialization import converted  # it names this module

        name, spectrogram = cls._inner
        inner = fields.get(name)
        if isinstance(inner, dict):
            fields = fields | {name: converted(spectrogram, inner)}
        return super().from_fields(fields)

    def _filtered(self, x: Any, made: dict[str, Any], bank: mel.Bank) -> Any:
        frames = StftParams(
            made["n_fft"],
            made["win_length"],
            made["hop_length"],
            made["window"],
            made["center"],
            made["pad_mode"],
        )
        op = type(self).__name__
        return mel.filter_bank_spectrogram(
            x, frames, made["pad"], made["power"], made["normalized"], bank, op
        )

    def row(self, x: Any) -> Any:
        return self._found(x, min(x.ndim + 1, 3))

    def batch(self, xs: Any) -> Any:
        return batch_in_blocks(self, xs, lambda some: self._found(some, min(some.ndim, 3)))


class MFCC(_CepstralOperation):
    """Mel-frequency cepstral coefficients <..., n_mfcc, time> of a waveform <..., time>.

    `melkwargs` are arguments of MelSpectrogram; what is left out has MindSpore's default (MindSpore wants all of
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
        ours = {"f_min": 0.0, "f_max": None, "n_mels": 128, "norm": NormType.NONE, "mel_scale": MelType.HTK}
        self.melkwargs = _settings(melkwargs, "melkwargs", **_SPECTRUM, **ours)
        MelSpectrogram(sample_rate, **self.melkwargs)  # refuses what is wrong
        if self.melkwargs["f_max"] is None:
            self.melkwargs["f_max"] = sample_rate // 2
        if self.melkwargs["n_mels"] < n_mfcc:
            raise ArgumentValueError(
                "Input n_mels should be greater than or equal to n_mfcc, "
                f"but got n_mfcc: {n_mfcc} and n_mels: {self.melkwargs['n_mels']}."
            )

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        made = self.melkwargs
        return banks.mel(
            n_freqs,
            made["f_min"],
            made["f_max"],
            made["n_mels"],
            self.sample_rate,
            made["norm"],
            made["mel_scale"],
            dtype,
        )

    def _found(self, x: Any, dims: int) -> Any:
        mel.check_length(x, self.melkwargs["n_fft"], "MFCC")
        made = self._filtered(x, self.melkwargs, self._bank)
        basis = banks.dct(self.n_mfcc, made.shape[-2], self.norm, made.dtype.name)
        return mel.cepstrum(made, self.log_mels, basis, dims)


class LFCC(_CepstralOperation):
    """Linear-frequency cepstral coefficients <..., n_lfcc, time> of a waveform <..., time>.

    `speckwargs` are arguments of Spectrogram; what is left out has MindSpore's default (MindSpore wants all of them).
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
        self.speckwargs = made = _settings(speckwargs, "speckwargs", **_SPECTRUM)
        if made["win_length"] > made["n_fft"]:
            raise ArgumentValueError(
                "win_length must be less than or equal to n_fft, "
                f"but got win_length: {made['win_length']} and n_fft: {made['n_fft']}."
            )
        Spectrogram(**made)  # refuses what is wrong
        if made["n_fft"] < n_lfcc:
            raise ArgumentValueError(
                "n_fft should be greater than or equal to n_lfcc, "
                f"but got n_fft: {made['n_fft']} and n_lfcc: {n_lfcc}."
            )

    def _bank(self, n_freqs: int, dtype: str) -> Any:
        return banks.linear(n_freqs, self.f_min, self.f_max, self.n_filter, self.sample_rate, dtype)

    def _found(self, x: Any, dims: int) -> Any:
        made = self._filtered(x, self.speckwargs, self._bank)
        basis = banks.dct(self.n_lfcc, made.shape[-2], self.norm, made.dtype.name)
        return mel.cepstrum(made, self.log_lf, basis, dims)

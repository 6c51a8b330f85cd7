"""Mel and linear filter banks and DCT bases, as functions."""

from __future__ import annotations

from typing import Any

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.kernels.audio import filter_banks as banks
from millrace._src.data.kernels.audio.enums import MelType, NormMode, NormType
from millrace._src.data.transforms.argument_types import NonNegativeInt, PositiveInt

from .argument_types import NonNegativeReal, PositiveReal

__all__ = ["create_dct", "linear_fbanks", "melscale_fbanks"]


@public("dataset.audio", "dataset.audio.utils")
def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> Any:
    """Create the DCT basis <n_mels, n_mfcc>: multiply mels by it from the right.

    >>> create_dct(2, 3).round(3).tolist()
    [[2.0, 1.7319999933242798], [2.0, 0.0], [2.0, -1.7319999933242798]]
    """
    for name, value, expected_type in (
        ("n_mfcc", n_mfcc, int),
        ("n_mels", n_mels, int),
        ("norm", norm, NormMode),
    ):
        if not isinstance(value, expected_type):
            raise ArgumentTypeError(
                f"{name} with value {value} is not of type {expected_type}, but got {type(value)}."
            )
    for name, count in (("n_mfcc", n_mfcc), ("n_mels", n_mels)):
        if count <= 0:
            raise ArgumentValueError(f"{name} must be greater than 0, but got {count}.")
    return banks.dct_basis(n_mfcc, n_mels, norm, "float32").T.copy()


def _check_order(f_min: float, f_max: float) -> None:
    if f_min > f_max:
        raise ArgumentValueError(
            f"Input f_min should be no more than f_max, but got f_min: {f_min} and f_max: {f_max}."
        )


@public("dataset.audio", "dataset.audio.utils")
@checked
def linear_fbanks(
    n_freqs: NonNegativeInt,
    f_min: NonNegativeReal,
    f_max: PositiveReal,
    n_filter: PositiveInt,
    sample_rate: PositiveInt,
) -> Any:
    """Create linear-frequency filter banks <n_freqs, n_filter>: triangular filters, evenly spaced in hertz.

    >>> linear_fbanks(5, 0, 8000, 3, 16000).tolist()
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    _check_order(f_min, f_max)
    return banks.linear_filter_bank(n_freqs, f_min, f_max, n_filter, sample_rate, "float32").weights.copy()


@public("dataset.audio", "dataset.audio.utils")
@checked
def melscale_fbanks(
    n_freqs: NonNegativeInt,
    f_min: NonNegativeReal,
    f_max: PositiveReal,
    n_mels: PositiveInt,
    sample_rate: PositiveInt,
    norm: NormType = NormType.NONE,
    mel_type: MelType = MelType.HTK,
) -> Any:
    """Create mel filter banks <n_freqs, n_mels>: triangular filters, evenly spaced on the mel scale.

    >>> melscale_fbanks(5, 0, 8000, 2, 16000).round(2).tolist()
    [[0.0, 0.0], [0.49000000953674316, 0.5099999904632568], [0.0, 0.8100000023841858], ...]
    """
    _check_order(f_min, f_max)
    return banks.mel_filter_bank(
        n_freqs, f_min, f_max, n_mels, sample_rate, norm, mel_type, "float32"
    ).weights.copy()

"""Enumerations of the audio transforms, with MindSpore's names and values."""

from __future__ import annotations

from enum import Enum

from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id

__all__ = [
    "BorderType",
    "DensityFunction",
    "FadeShape",
    "GainType",
    "Interpolation",
    "MelType",
    "Modulation",
    "NormMode",
    "NormType",
    "ResampleMethod",
    "ScaleType",
    "WindowType",
]


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.BorderType")
class BorderType(str, Enum):  # noqa: UP042 (MindSpore's print as their name)
    """Padding mode of a signal: constant, edge, or reflection without (REFLECT) or with (SYMMETRIC) the edge value.

    >>> BorderType.REFLECT.value
    'reflect'
    """

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.DensityFunction")
class DensityFunction(str, Enum):  # noqa: UP042
    """Probability density function of the noise in `Dither`: triangular, rectangular or Gaussian.

    >>> DensityFunction.TPDF.value
    'TPDF'
    """

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.FadeShape")
class FadeShape(str, Enum):  # noqa: UP042
    """Shape of the curve of `Fade`.

    >>> FadeShape.LINEAR.value
    'linear'
    """

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.GainType")
class GainType(str, Enum):  # noqa: UP042
    """Type of the gain of `Vol`: amplitude factor, power ratio or decibels.

    >>> GainType.DB.value
    'db'
    """

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.Interpolation")
class Interpolation(str, Enum):  # noqa: UP042
    """Interpolation between samples in `Flanger`.

    >>> Interpolation.QUADRATIC.value
    'quadratic'
    """

    LINEAR = "linear"
    QUADRATIC = "quadratic"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.MelType")
class MelType(str, Enum):  # noqa: UP042
    """Mel scale: HTK's formula, or Slaney's, which is linear below 1000 Hz.

    >>> MelType.HTK.value
    'htk'
    """

    HTK = "htk"
    SLANEY = "slaney"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.Modulation")
class Modulation(str, Enum):  # noqa: UP042
    """Waveform that modulates the delay of `Flanger`.

    >>> Modulation.SINUSOIDAL.value
    'sinusoidal'
    """

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.NormMode")
class NormMode(str, Enum):  # noqa: UP042
    """Normalization of a DCT basis: orthonormal or none.

    >>> NormMode.ORTHO.value
    'ortho'
    """

    ORTHO = "ortho"
    NONE = "none"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.NormType")
class NormType(str, Enum):  # noqa: UP042
    """Normalization of mel filters: equal areas (Slaney) or equal heights (none).

    >>> NormType.SLANEY.value
    'slaney'
    """

    SLANEY = "slaney"
    NONE = "none"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.ResampleMethod")
class ResampleMethod(str, Enum):  # noqa: UP042
    """Window function of the sinc interpolation in `Resample`.

    >>> ResampleMethod.KAISER_WINDOW.value
    'kaiser_window'
    """

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.ScaleType")
class ScaleType(str, Enum):  # noqa: UP042
    """Input scale of `AmplitudeToDB`: power or magnitude.

    >>> ScaleType.POWER.value
    'power'
    """

    POWER = "power"
    MAGNITUDE = "magnitude"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.WindowType")
class WindowType(str, Enum):  # noqa: UP042
    """Window function that each frame of a spectrogram is multiplied by.

    >>> WindowType.HANN.value
    'hann'
    """

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"

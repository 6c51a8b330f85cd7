"""The choices that audio transforms take, with MindSpore's names and values."""

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
    """What lies beyond the ends of a signal: a constant, its last value, or its reflection (without or with it).

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
    """How the noise of Dither is distributed: triangular, rectangular or Gaussian.

    >>> DensityFunction.TPDF.value
    'TPDF'
    """

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.FadeShape")
class FadeShape(str, Enum):  # noqa: UP042
    """The curve of Fade.

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
    """What the gain of Vol is: a factor, a ratio of powers, or decibels.

    >>> GainType.DB.value
    'db'
    """

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.Interpolation")
class Interpolation(str, Enum):  # noqa: UP042
    """How Flanger finds values between samples.

    >>> Interpolation.QUADRATIC.value
    'quadratic'
    """

    LINEAR = "linear"
    QUADRATIC = "quadratic"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.MelType")
class MelType(str, Enum):  # noqa: UP042
    """Which mel scale: HTK's formula, or Slaney's, which is linear below 1000 Hz.

    >>> MelType.HTK.value
    'htk'
    """

    HTK = "htk"
    SLANEY = "slaney"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.Modulation")
class Modulation(str, Enum):  # noqa: UP042
    """The wave that moves the delay of Flanger.

    >>> Modulation.SINUSOIDAL.value
    'sinusoidal'
    """

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.NormMode")
class NormMode(str, Enum):  # noqa: UP042
    """Whether the basis of a cosine transform is orthonormal.

    >>> NormMode.ORTHO.value
    'ortho'
    """

    ORTHO = "ortho"
    NONE = "none"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.NormType")
class NormType(str, Enum):  # noqa: UP042
    """Whether mel filters have equal areas (Slaney) or equal heights.

    >>> NormType.SLANEY.value
    'slaney'
    """

    SLANEY = "slaney"
    NONE = "none"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.ResampleMethod")
class ResampleMethod(str, Enum):  # noqa: UP042
    """The window of Resample's interpolation.

    >>> ResampleMethod.KAISER_WINDOW.value
    'kaiser_window'
    """

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.ScaleType")
class ScaleType(str, Enum):  # noqa: UP042
    """What AmplitudeToDB is given: powers or magnitudes.

    >>> ScaleType.POWER.value
    'power'
    """

    POWER = "power"
    MAGNITUDE = "magnitude"


@public("dataset.audio", "dataset.audio.utils")
@stable_id("enum.WindowType")
class WindowType(str, Enum):  # noqa: UP042
    """The window that each frame of a spectrogram is multiplied by.

    >>> WindowType.HANN.value
    'hann'
    """

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"

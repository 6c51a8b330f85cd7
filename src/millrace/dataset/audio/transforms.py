"""The transforms of millrace.dataset.audio."""

from __future__ import annotations

from millrace.data.transforms.audio.biquads import (
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    DeemphBiquad,
    EqualizerBiquad,
    HighpassBiquad,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
)
from millrace.data.transforms.audio.delays import (
    Flanger,
    Phaser,
)
from millrace.data.transforms.audio.filters import Biquad, Filtfilt, LFilter
from millrace.data.transforms.audio.levels import (
    Contrast,
    DCShift,
    Dither,
    Fade,
    Gain,
    MuLawDecoding,
    MuLawEncoding,
    Overdrive,
    Vol,
)
from millrace.data.transforms.audio.magnitudes import (
    AmplitudeToDB,
    Angle,
    ComplexNorm,
    ComputeDeltas,
    DBToAmplitude,
    Magphase,
)
from millrace.data.transforms.audio.masks import (
    FrequencyMasking,
    MaskAlongAxis,
    MaskAlongAxisIID,
    TimeMasking,
)

__all__ = [
    "AllpassBiquad",
    "AmplitudeToDB",
    "Angle",
    "BandBiquad",
    "BandpassBiquad",
    "BandrejectBiquad",
    "BassBiquad",
    "Biquad",
    "ComplexNorm",
    "ComputeDeltas",
    "Contrast",
    "DBToAmplitude",
    "DCShift",
    "DeemphBiquad",
    "Dither",
    "EqualizerBiquad",
    "Fade",
    "Filtfilt",
    "Flanger",
    "FrequencyMasking",
    "Gain",
    "HighpassBiquad",
    "LFilter",
    "LowpassBiquad",
    "Magphase",
    "MaskAlongAxis",
    "MaskAlongAxisIID",
    "MuLawDecoding",
    "MuLawEncoding",
    "Overdrive",
    "Phaser",
    "RiaaBiquad",
    "TimeMasking",
    "TrebleBiquad",
    "Vol",
]

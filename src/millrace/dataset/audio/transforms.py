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
from millrace.data.transforms.audio.cepstra import LFCC, MFCC
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
from millrace.data.transforms.audio.mel import InverseMelScale, MelScale, MelSpectrogram
from millrace.data.transforms.audio.spectrum import (
    GriffinLim,
    InverseSpectrogram,
    SpectralCentroid,
    Spectrogram,
)
from millrace.data.transforms.audio.speech import DetectPitchFrequency, SlidingWindowCmn, Vad
from millrace.data.transforms.audio.tempo import PhaseVocoder, PitchShift, Resample, TimeStretch

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
    "DetectPitchFrequency",
    "Dither",
    "EqualizerBiquad",
    "Fade",
    "Filtfilt",
    "Flanger",
    "FrequencyMasking",
    "Gain",
    "GriffinLim",
    "HighpassBiquad",
    "InverseMelScale",
    "InverseSpectrogram",
    "LFCC",
    "LFilter",
    "LowpassBiquad",
    "MFCC",
    "Magphase",
    "MaskAlongAxis",
    "MaskAlongAxisIID",
    "MelScale",
    "MelSpectrogram",
    "MuLawDecoding",
    "MuLawEncoding",
    "Overdrive",
    "PhaseVocoder",
    "Phaser",
    "PitchShift",
    "Resample",
    "RiaaBiquad",
    "SlidingWindowCmn",
    "SpectralCentroid",
    "Spectrogram",
    "TimeMasking",
    "TimeStretch",
    "TrebleBiquad",
    "Vad",
    "Vol",
]

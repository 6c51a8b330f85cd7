"""Audio transforms under MindSpore's module path."""

from __future__ import annotations

from millrace._src.data.transforms.audio.amplitude_effects import (
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
from millrace._src.data.transforms.audio.biquad_filters import (
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
from millrace._src.data.transforms.audio.iir_filters import Biquad, Filtfilt, LFilter
from millrace._src.data.transforms.audio.magnitude_phase import (
    AmplitudeToDB,
    Angle,
    ComplexNorm,
    ComputeDeltas,
    DBToAmplitude,
    Magphase,
)
from millrace._src.data.transforms.audio.mel_spectrogram import InverseMelScale, MelScale, MelSpectrogram
from millrace._src.data.transforms.audio.mfcc import LFCC, MFCC
from millrace._src.data.transforms.audio.modulation_effects import (
    Flanger,
    Phaser,
)
from millrace._src.data.transforms.audio.spec_augment import (
    FrequencyMasking,
    MaskAlongAxis,
    MaskAlongAxisIID,
    TimeMasking,
)
from millrace._src.data.transforms.audio.spectrogram import (
    GriffinLim,
    InverseSpectrogram,
    SpectralCentroid,
    Spectrogram,
)
from millrace._src.data.transforms.audio.speech_features import DetectPitchFrequency, SlidingWindowCmn, Vad
from millrace._src.data.transforms.audio.time_stretch import PhaseVocoder, PitchShift, Resample, TimeStretch

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

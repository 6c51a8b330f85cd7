"""One example of every audio transform; see transform_examples.py.

Inputs: a waveform <2,40>, a loud one, a spectrogram <8,10>, or a complex one <6,5,2>, all float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace.dataset.audio as A
from tests.parity.data.audio.inputs import noise

SPECTRAL: dict[str, tuple[Callable[[], Any], str]] = {
    "DetectPitchFrequency": (lambda: A.DetectPitchFrequency(400, win_length=2, freq_high=190), "wave"),
    "GriffinLim": (lambda: A.GriffinLim(n_fft=14, n_iter=3), "spectrogram"),
    "InverseMelScale": (lambda: A.InverseMelScale(12, n_mels=8, max_iter=50), "spectrogram"),
    "InverseSpectrogram": (lambda: A.InverseSpectrogram(n_fft=10), "complex"),
    "LFCC": (lambda: A.LFCC(n_filter=6, n_lfcc=4, speckwargs={"n_fft": 16}), "wave"),
    "MFCC": (lambda: A.MFCC(n_mfcc=4, melkwargs={"n_fft": 16, "n_mels": 6}), "wave"),
    "MelScale": (lambda: A.MelScale(n_mels=4, n_stft=8), "spectrogram"),
    "MelSpectrogram": (lambda: A.MelSpectrogram(n_fft=16, n_mels=6), "wave"),
    "PhaseVocoder": (lambda: A.PhaseVocoder(1.5, np.linspace(0, 9, 6, dtype=np.float32)[:, None]), "complex"),
    "PitchShift": (lambda: A.PitchShift(16000, 5, n_fft=16), "wave"),
    "Resample": (lambda: A.Resample(3, 2), "wave"),
    "SlidingWindowCmn": (lambda: A.SlidingWindowCmn(4, 2), "spectrogram"),
    "SpectralCentroid": (lambda: A.SpectralCentroid(16000, n_fft=16), "wave"),
    "Spectrogram": (lambda: A.Spectrogram(n_fft=16), "wave"),
    "TimeStretch": (lambda: A.TimeStretch(n_freq=6, fixed_rate=0.8), "complex"),
    "Vad": (
        lambda: A.Vad(800, search_time=0.02, measure_duration=0.02, measure_freq=100.0, hp_lifter_freq=90.0),
        "wave",
    ),
}

AUDIO: dict[str, tuple[Callable[[], Any], str]] = {
    "AllpassBiquad": (lambda: A.AllpassBiquad(16000, 1000.0), "wave"),
    "AmplitudeToDB": (lambda: A.AmplitudeToDB(top_db=20.0), "spectrogram"),
    "Angle": (lambda: A.Angle(), "complex"),
    "BandBiquad": (lambda: A.BandBiquad(16000, 1000.0), "wave"),
    "BandpassBiquad": (lambda: A.BandpassBiquad(16000, 1000.0), "wave"),
    "BandrejectBiquad": (lambda: A.BandrejectBiquad(16000, 1000.0), "wave"),
    "BassBiquad": (lambda: A.BassBiquad(16000, 10.0), "wave"),
    "Biquad": (lambda: A.Biquad(0.01, 0.02, 0.13, 1.0, 0.12, 0.3), "wave"),
    "ComplexNorm": (lambda: A.ComplexNorm(1.5), "complex"),
    "ComputeDeltas": (lambda: A.ComputeDeltas(), "spectrogram"),
    "Contrast": (lambda: A.Contrast(), "wave"),
    "DBToAmplitude": (lambda: A.DBToAmplitude(1.0, 0.5), "wave"),
    "DCShift": (lambda: A.DCShift(0.5, 0.02), "wave"),
    "DeemphBiquad": (lambda: A.DeemphBiquad(44100), "wave"),
    "Dither": (lambda: A.Dither(A.DensityFunction.GPDF), "loud"),
    "EqualizerBiquad": (lambda: A.EqualizerBiquad(16000, 1000.0, 5.5), "wave"),
    "Fade": (lambda: A.Fade(5, 7, A.FadeShape.HALF_SINE), "wave"),
    "Filtfilt": (lambda: A.Filtfilt([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]), "wave"),
    "Flanger": (lambda: A.Flanger(16000, 1.0, regen=20.0), "wave"),
    "FrequencyMasking": (lambda: A.FrequencyMasking(True, 2), "spectrogram"),
    "Gain": (lambda: A.Gain(3.0), "wave"),
    "HighpassBiquad": (lambda: A.HighpassBiquad(16000, 1000.0), "wave"),
    "LFilter": (lambda: A.LFilter([1.0, 0.1, 0.3], [0.1, 0.2, 0.3]), "wave"),
    "LowpassBiquad": (lambda: A.LowpassBiquad(16000, 1000.0), "wave"),
    "Magphase": (lambda: A.Magphase(), "complex"),
    "MaskAlongAxis": (lambda: A.MaskAlongAxis(0, 1, 0.5, 2), "spectrogram"),
    "MaskAlongAxisIID": (lambda: A.MaskAlongAxisIID(5, 0.5, 2), "spectrogram"),
    "MuLawDecoding": (lambda: A.MuLawDecoding(), "wave"),
    "MuLawEncoding": (lambda: A.MuLawEncoding(), "wave"),
    "Overdrive": (lambda: A.Overdrive(), "wave"),
    "Phaser": (lambda: A.Phaser(16000), "wave"),
    "RiaaBiquad": (lambda: A.RiaaBiquad(44100), "wave"),
    "TimeMasking": (lambda: A.TimeMasking(True, 5), "spectrogram"),
    "TrebleBiquad": (lambda: A.TrebleBiquad(16000, 10.0), "wave"),
    "Vol": (lambda: A.Vol(0.5), "wave"),
    **SPECTRAL,
}


def audio_values(inputs: str, i: int) -> tuple[Any, ...] | None:
    """The i-th row of an audio input; None for another kind of input."""
    if inputs == "wave":
        return (noise(2, 40, salt=i + 1).astype(np.float32),)
    if inputs == "loud":
        return (100 * noise(2, 40, salt=i + 1).astype(np.float32),)
    if inputs == "spectrogram":
        return (np.abs(noise(8, 10, salt=i + 1)).astype(np.float32),)
    if inputs == "complex":
        return (noise(6, 5, 2, salt=i + 1).astype(np.float32),)
    return None

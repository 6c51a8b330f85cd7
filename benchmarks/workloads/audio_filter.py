"""Filters: waveforms through a few biquads."""

from __future__ import annotations

from typing import Any

from . import STREAM, Bar
from .audio_mel import RATE, beside

TITLE = "Waveforms through filters"
QUESTION = "512 waveforms of 2 s at 16 kHz through a low-pass, a high-pass and an equalizer, batch 32"
NOTE = (
    "Millrace and MindSpore run the same lines: NumpySlicesDataset, LowpassBiquad, HighpassBiquad, EqualizerBiquad, "
    "batch, each with two workers a map and with its defaults. torchaudio: its functions of the same names in a torch "
    "DataLoader's dataset, with none and with two worker processes."
)
METRICS = STREAM
BARS = (Bar("at least level with MindSpore", "rows_per_s", ratio=1),)


def _steps(audio: Any) -> list[Any]:
    return [
        audio.LowpassBiquad(RATE, 3000.0),
        audio.HighpassBiquad(RATE, 200.0),
        audio.EqualizerBiquad(RATE, 1000.0, 3.0),
    ]


def _torch_step() -> Any:
    from torchaudio import functional

    def filtered(wave: Any) -> Any:
        wave = functional.lowpass_biquad(wave, RATE, 3000.0)
        wave = functional.highpass_biquad(wave, RATE, 200.0)
        return functional.equalizer_biquad(wave, RATE, 1000.0, 3.0)

    return filtered


VARIANTS = beside(_steps, _torch_step, ((2 * RATE,), "float32"))

"""Filters: waveforms through a few biquads."""

from __future__ import annotations

from typing import Any

from benchmarks.data import seconds
from benchmarks.measure import loop

from . import STREAM, Bar
from .audio_mel import BATCH, RATE, waves

TITLE = "Waveforms through filters"
QUESTION = "512 waveforms of 2 s at 16 kHz through a low-pass, a high-pass and an equalizer, batch 32"
NOTE = (
    "Millrace and MindSpore run the same lines: NumpySlicesDataset, LowpassBiquad, HighpassBiquad, EqualizerBiquad, "
    "batch, each with two workers a map and with its defaults. torchaudio: its functions of the same names in a torch "
    "DataLoader's dataset, with none and with two worker processes."
)
METRICS = STREAM
BARS = (Bar("at least level with MindSpore", "rows_per_s", ratio=1),)
LIKE = (((2 * RATE,), "float32"),)


def count(quick: bool) -> int:
    return 64 if quick else 512


def like_mindspore(ds: Any, audio: Any, quick: bool, **workers: int) -> dict[str, Any]:
    rows = waves(count(quick))

    def build() -> Any:
        data = ds.NumpySlicesDataset({"wave": rows}, shuffle=False)
        steps = [
            audio.LowpassBiquad(RATE, 3000.0),
            audio.HighpassBiquad(RATE, 200.0),
            audio.EqualizerBiquad(RATE, 1000.0, 3.0),
        ]
        data = data.map(steps, "wave", **workers)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=count(quick), like=LIKE)


def millrace(quick: bool, **workers: int) -> dict[str, Any]:
    import millrace.dataset as ds
    from millrace.dataset import audio

    return like_mindspore(ds, audio, quick, **workers)


def mindspore(quick: bool, **workers: int) -> dict[str, Any]:
    import mindspore.dataset as ds
    from mindspore.dataset import audio

    return like_mindspore(ds, audio, quick, **workers)


def torchaudio(quick: bool, workers: int = 0) -> dict[str, Any]:
    import torch
    from torch.utils.data import DataLoader, Dataset
    from torchaudio import functional

    rows = torch.from_numpy(waves(count(quick)))

    class Waves(Dataset):  # type: ignore[type-arg,misc]
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, i: int) -> Any:
            wave = functional.lowpass_biquad(rows[i], RATE, 3000.0)
            wave = functional.highpass_biquad(wave, RATE, 200.0)
            return (functional.equalizer_biquad(wave, RATE, 1000.0, 3.0),)

    def build() -> Any:
        return DataLoader(Waves(), BATCH, num_workers=workers, persistent_workers=workers > 0)

    return loop(build, seconds(quick), rows=count(quick), like=LIKE)


VARIANTS = {
    "millrace": {
        "defaults": lambda quick: millrace(quick),
        "2 workers": lambda quick: millrace(quick, num_parallel_workers=2),
    },
    "mindspore": {
        "defaults": lambda quick: mindspore(quick),
        "2 workers": lambda quick: mindspore(quick, num_parallel_workers=2),
    },
    "torchaudio": {
        "no workers": lambda quick: torchaudio(quick),
        "2 workers": lambda quick: torchaudio(quick, 2),
    },
}

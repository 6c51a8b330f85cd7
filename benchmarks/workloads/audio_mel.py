"""Speech: waveforms to masked mel spectrograms in decibel."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.data import seconds
from benchmarks.measure import loop

from . import STREAM, Bar

TITLE = "Waveforms to mel spectrograms"
QUESTION = "512 waveforms of 2 s at 16 kHz, MelSpectrogram (80 bands), decibel, two masks, batch 32"
NOTE = (
    "Millrace and MindSpore run the same lines: NumpySlicesDataset, MelSpectrogram, AmplitudeToDB, FrequencyMasking, "
    "TimeMasking, batch, each with two workers a map and with its defaults. torchaudio: the same transforms in a "
    "torch DataLoader's dataset, with none and with two worker processes."
)
METRICS = STREAM
BARS = (
    Bar("at least 1.5 times MindSpore", "rows_per_s", ratio=1.5),
    Bar("ahead of torchaudio", "rows_per_s", ratio=1, peer="torchaudio"),
)

BATCH, RATE, POINTS, HOP, BANDS = 32, 16_000, 400, 160, 80
LIKE = (((BANDS, 1 + 2 * RATE // HOP), "float32"),)


def count(quick: bool) -> int:
    return 64 if quick else 512


@functools.cache
def waves(rows: int) -> Any:
    """Tones under noise."""
    choose = np.random.default_rng(5)
    time = np.arange(2 * RATE) / RATE
    tones = np.sin(2 * np.pi * choose.uniform(100, 4000, (rows, 1)) * time)
    return (0.5 * tones + 0.1 * choose.standard_normal((rows, len(time)))).astype(np.float32)


def like_mindspore(ds: Any, audio: Any, quick: bool, **workers: int) -> dict[str, Any]:
    rows = waves(count(quick))

    def build() -> Any:
        data = ds.NumpySlicesDataset({"wave": rows}, shuffle=False)
        steps = [
            audio.MelSpectrogram(RATE, POINTS, POINTS, HOP, n_mels=BANDS),
            audio.AmplitudeToDB(),
            audio.FrequencyMasking(freq_mask_param=15),
            audio.TimeMasking(time_mask_param=35),
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
    from torchaudio import transforms

    rows = torch.from_numpy(waves(count(quick)))
    steps = torch.nn.Sequential(
        transforms.MelSpectrogram(RATE, POINTS, POINTS, HOP, n_mels=BANDS),
        transforms.AmplitudeToDB(),
        transforms.FrequencyMasking(15),
        transforms.TimeMasking(35),
    )

    class Waves(Dataset):  # type: ignore[type-arg,misc]
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, i: int) -> Any:
            return (steps(rows[i]),)

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

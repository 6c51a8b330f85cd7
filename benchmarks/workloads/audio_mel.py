"""Speech: waveforms to masked mel spectrograms in decibel."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import seconds
from benchmarks.measure import Column, loop

from . import STREAM, Bar, Variants, with_defaults_and_two

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


def count(quick: bool) -> int:
    return 64 if quick else 512


@functools.cache
def waves(rows: int) -> Any:
    """Tones under noise."""
    choose = np.random.default_rng(5)
    time = np.arange(2 * RATE) / RATE
    tones = np.sin(2 * np.pi * choose.uniform(100, 4000, (rows, 1)) * time)
    return (0.5 * tones + 0.1 * choose.standard_normal((rows, len(time)))).astype(np.float32)


def like_mindspore(ds: Any, steps: list[Any], like: Column, quick: bool, **workers: int) -> dict[str, Any]:
    rows = waves(count(quick))

    def build() -> Any:
        data = ds.NumpySlicesDataset({"wave": rows}, shuffle=False)
        data = data.map(steps, "wave", **workers)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=count(quick), like=(like,))


def torchaudio(
    make: Callable[[], Callable[[Any], Any]], like: Column, quick: bool, workers: int
) -> dict[str, Any]:
    import torch
    from torch.utils.data import DataLoader, Dataset

    rows, step = torch.from_numpy(waves(count(quick))), make()

    class Waves(Dataset):  # type: ignore[type-arg,misc]
        def __len__(self) -> int:
            return len(rows)

        def __getitem__(self, i: int) -> Any:
            return (step(rows[i]),)

    def build() -> Any:
        return DataLoader(Waves(), BATCH, num_workers=workers, persistent_workers=workers > 0)

    return loop(build, seconds(quick), rows=count(quick), like=(like,))


def beside(steps: Callable[[Any], list[Any]], torch_step: Callable[[], Any], like: Column) -> Variants:
    """The three of them: ``steps`` of an audio module with MindSpore's names, and a function for torchaudio."""

    def millrace(quick: bool, **workers: int) -> dict[str, Any]:
        import millrace.dataset as ds
        from millrace.dataset import audio

        return like_mindspore(ds, steps(audio), like, quick, **workers)

    def mindspore(quick: bool, **workers: int) -> dict[str, Any]:
        import mindspore.dataset as ds
        from mindspore.dataset import audio

        return like_mindspore(ds, steps(audio), like, quick, **workers)

    return {
        "millrace": with_defaults_and_two(millrace),
        "mindspore": with_defaults_and_two(mindspore),
        "torchaudio": {
            "no workers": lambda quick: torchaudio(torch_step, like, quick, 0),
            "2 workers": lambda quick: torchaudio(torch_step, like, quick, 2),
        },
    }


def _steps(audio: Any) -> list[Any]:
    return [
        audio.MelSpectrogram(RATE, POINTS, POINTS, HOP, n_mels=BANDS),
        audio.AmplitudeToDB(),
        audio.FrequencyMasking(freq_mask_param=15),
        audio.TimeMasking(time_mask_param=35),
    ]


def _torch_step() -> Any:
    import torch
    from torchaudio import transforms

    return torch.nn.Sequential(
        transforms.MelSpectrogram(RATE, POINTS, POINTS, HOP, n_mels=BANDS),
        transforms.AmplitudeToDB(),
        transforms.FrequencyMasking(15),
        transforms.TimeMasking(35),
    )


VARIANTS = beside(_steps, _torch_step, ((BANDS, 1 + 2 * RATE // HOP), "float32"))

"""Arrays in memory, shuffled and batched: what does the engine itself cost?"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import loop

from . import STREAM, Bar

QUESTION = "Arrays in memory: 60,000 x 28 x 28 x 1 float32 with labels, shuffled, batch 64"
NOTE = (
    "Millrace and MindSpore run the same lines: NumpySlicesDataset, shuffle, batch. MindSpore also with the shuffle "
    "in its sampler. PyTorch: TensorDataset in a DataLoader with 0 and 2 (persistent) workers, and with a "
    "BatchSampler as the sampler, which its documentation offers for bulk reads (one gather per batch), also with "
    "torch.set_num_threads(1): its gather on two threads suffers most when something else runs."
)
METRICS = STREAM
BARS = (Bar("at least 20 times MindSpore", "rows_per_s", ratio=20),)

BATCH = 64


def data(quick: bool) -> tuple[Any, Any]:
    rows = 1_000 if quick else 60_000
    images = np.random.default_rng(0).random((rows, 28, 28, 1), dtype=np.float32)
    return images, (np.arange(rows) % 10).astype(np.int32)


def seconds(quick: bool) -> float:
    return 0.05 if quick else 2.0


def like_mindspore(ds: Any, quick: bool, epochs: int | None = None) -> dict[str, Any]:
    images, labels = data(quick)

    def build() -> Any:
        source = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=False)
        batches = source.shuffle(len(labels)).batch(BATCH)
        return batches.create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), epochs)


def millrace(quick: bool, epochs: int | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, epochs)


def mindspore(quick: bool, epochs: int | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, epochs)


def mindspore_sampler(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds

    images, labels = data(quick)

    def build() -> Any:
        batches = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=True).batch(BATCH)
        return batches.create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick))


def torch(quick: bool, workers: int = 0, epochs: int | None = None) -> dict[str, Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader, TensorDataset

    images, labels = data(quick)

    def build() -> Any:
        tensors = TensorDataset(from_numpy(images), from_numpy(labels))
        return DataLoader(tensors, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)

    return loop(build, seconds(quick), epochs)


def torch_bulk(quick: bool, threads: int | None = None) -> dict[str, Any]:
    from torch import from_numpy, set_num_threads
    from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

    images, labels = data(quick)
    if threads is not None:
        set_num_threads(threads)

    def build() -> Any:
        tensors = TensorDataset(from_numpy(images), from_numpy(labels))
        batches = BatchSampler(RandomSampler(tensors), BATCH, drop_last=False)
        return DataLoader(tensors, sampler=batches, batch_size=None)

    return loop(build, seconds(quick))


VARIANTS = {
    "millrace": {"default": millrace},
    "mindspore": {"default": mindspore, "shuffle in the sampler": mindspore_sampler},
    "torch": {
        "0 workers": torch,
        "2 workers": lambda quick: torch(quick, 2),
        "BatchSampler": torch_bulk,
        "BatchSampler, 1 thread": lambda quick: torch_bulk(quick, threads=1),
    },
}

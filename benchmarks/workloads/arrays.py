"""Arrays in memory, shuffled and batched: what does the engine itself cost?"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import seconds
from benchmarks.measure import Again, Column, Stream, loop

from . import STREAM, Bar

TITLE = "Arrays in memory"
QUESTION = "60,000 x 28 x 28 x 1 float32 with labels, shuffled, batch 64"
NOTE = (
    "Millrace and MindSpore run the same lines: NumpySlicesDataset, shuffle, batch. MindSpore also with the shuffle "
    "in its sampler. PyTorch: TensorDataset in a DataLoader with 0 and 2 (persistent) workers, and with a "
    "BatchSampler as the sampler, which its documentation offers for bulk reads (one gather per batch), also with "
    "torch.set_num_threads(1): its gather on two threads suffers most when something else runs. tf.data: "
    "from_tensor_slices, and a shuffled range with one gather per batch. Grain: a MapDataset over the arrays. DALI: an "
    "external source that gives whole batches. Hugging Face: an Arrow table with the numpy format."
)
WHY = {
    "torch": "the BatchSampler form is one gather per batch in the caller, and nothing else: no plan, queue or thread.",
    "dali": "its external source is one gather per batch in numpy, made by the benchmark itself.",
}
METRICS = STREAM
BARS = (Bar("at least 20 times MindSpore", "rows_per_s", ratio=20),)

BATCH = 64


def data(quick: bool) -> tuple[Any, Any]:
    rows = 1_000 if quick else 60_000
    images = np.random.default_rng(0).random((rows, 28, 28, 1), dtype=np.float32)
    return images, (np.arange(rows) % 10).astype(np.int32)


ROW: tuple[Column, ...] = (((28, 28, 1), "float32"), ((), None))


def timed(build: Any, quick: bool, epochs: int | None = None) -> dict[str, Any]:
    return loop(build, seconds(quick), epochs, rows=1_000 if quick else 60_000, like=ROW)


def like_mindspore(ds: Any, quick: bool, epochs: int | None = None) -> dict[str, Any]:
    images, labels = data(quick)

    def build() -> Any:
        source = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=False)
        batches = source.shuffle(len(labels)).batch(BATCH)
        return batches.create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return timed(build, quick, epochs)


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

    return timed(build, quick)


def torch(quick: bool, workers: int = 0, epochs: int | None = None) -> dict[str, Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader, TensorDataset

    images, labels = data(quick)

    def build() -> Any:
        tensors = TensorDataset(from_numpy(images), from_numpy(labels))
        return DataLoader(tensors, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)

    return timed(build, quick, epochs)


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

    return timed(build, quick)


def tensorflow(quick: bool, gather: bool = False) -> dict[str, Any]:
    import tensorflow as tf

    images, labels = data(quick)

    def build() -> Any:
        if gather:
            held, names = tf.constant(images), tf.constant(labels)
            rows = tf.data.Dataset.range(len(labels)).shuffle(len(labels)).batch(BATCH)
            rows = rows.map(lambda at: (tf.gather(held, at), tf.gather(names, at)), tf.data.AUTOTUNE)
        else:
            rows = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(len(labels)).batch(BATCH)
        return Again(rows.prefetch(tf.data.AUTOTUNE).as_numpy_iterator)

    return timed(build, quick)


def grain(quick: bool, threads: int) -> dict[str, Any]:
    import grain as g

    from .generator import Rows

    source: Any = Rows(*data(quick))

    def build() -> Any:
        rows = g.MapDataset.source(source).shuffle(seed=1).batch(BATCH).repeat()
        batches = rows.to_iter_dataset(g.ReadOptions(num_threads=threads, prefetch_buffer_size=16))
        return Stream(batches, -(-len(source) // BATCH))

    return timed(build, quick)


def dali(quick: bool) -> dict[str, Any]:
    from nvidia.dali import fn

    from benchmarks.images.dali import run

    images, labels = data(quick)
    random = np.random.default_rng(1)

    def shuffled() -> Any:
        while True:
            order = random.permutation(len(labels))
            for at in range(0, len(labels) - BATCH + 1, BATCH):
                part = order[at : at + BATCH]
                yield images[part], labels[part, None]

    def define() -> Any:
        return tuple(fn.external_source(shuffled(), num_outputs=2))

    return timed(lambda: run(define, -(-len(labels) // BATCH), 2, BATCH), quick)


def huggingface(quick: bool) -> dict[str, Any]:
    import datasets

    images, labels = data(quick)
    kinds = datasets.Features(
        {"image": datasets.Array3D((28, 28, 1), "float32"), "label": datasets.Value("int32")}
    )
    table = datasets.Dataset.from_dict({"image": images, "label": labels}, features=kinds).with_format(
        "numpy"
    )

    def epoch() -> Any:
        return (tuple(batch.values()) for batch in table.shuffle().iter(BATCH))

    return timed(lambda: Again(epoch), quick)


VARIANTS = {
    "millrace": {"default": millrace},
    "mindspore": {"default": mindspore, "shuffle in the sampler": mindspore_sampler},
    "torch": {
        "0 workers": torch,
        "2 workers": lambda quick: torch(quick, 2),
        "BatchSampler": torch_bulk,
        "BatchSampler, 1 thread": lambda quick: torch_bulk(quick, threads=1),
    },
    "tensorflow": {"slices": tensorflow, "one gather a batch": lambda quick: tensorflow(quick, gather=True)},
    "grain": {"1 thread": lambda quick: grain(quick, 1), "2 threads": lambda quick: grain(quick, 2)},
    "dali": {"external source": dali},
    "huggingface": {"numpy format": huggingface},
}

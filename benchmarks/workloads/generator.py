"""A Python object with __getitem__, shuffled and batched: what does a row cost that Python makes?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import Again, Stream

from . import STREAM, Bar
from .arrays import BATCH, data, timed

TITLE = "Python generator"
QUESTION = "an object with __getitem__ over the same arrays, shuffled, batch 64"
NOTE = (
    "GeneratorDataset(source, shuffle=True).batch(64), with the defaults of each engine; MindSpore also with 2 "
    "workers. PyTorch: a map-style Dataset over tensors in a DataLoader with 0 and 2 (persistent) workers, and over "
    "the numpy arrays themselves with 0. tf.data: from_generator. Grain: a MapDataset over the object. DALI: an "
    "external source called row by row. WebDataset: the object's rows through its shuffle and batched. Hugging Face: "
    "IterableDataset.from_generator."
)
WHY = {
    "torch": "with 0 workers the loop runs in the caller: no plan, queue or thread.",
    "webdataset": "it runs in the caller, and shuffles within 1,000 rows instead of the whole epoch.",
}
METRICS = STREAM
BARS = (Bar("at least 8 times MindSpore", "rows_per_s", ratio=8),)


class Rows:
    """The user's class, the same for all: row i is (x[i], y[i]), x through a function where there is one."""

    def __init__(self, images: Any, labels: Any, function: Callable[[Any], Any] | None = None) -> None:
        self.images, self.labels, self.function = images, labels, function

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        return self.images[i], self.labels[i]

    def __len__(self) -> int:
        return len(self.labels)


class MappedRows(Rows):
    """Where PyTorch users put their function."""

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        assert self.function is not None
        return self.function(self.images[i]), self.labels[i]


def like_mindspore(
    ds: Any,
    quick: bool,
    function: Callable[[Any], Any] | None = None,
    workers: int | None = None,
    epochs: int | None = None,
) -> dict[str, Any]:
    """The pipeline in the lines that Millrace and MindSpore share; ``workers`` None is the engine's default."""
    source = Rows(*data(quick))
    reading: dict[str, Any] = {} if workers is None else {"num_parallel_workers": workers}
    mapping = reading | ({} if workers is None else {"python_multiprocessing": True})

    def build() -> Any:
        rows = ds.GeneratorDataset(source, ["image", "label"], shuffle=True, **reading)
        if function is not None:
            rows = rows.map(function, input_columns=["image"], **mapping)
        return rows.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return timed(build, quick, epochs)


def like_torch(
    quick: bool, workers: int, function: Callable[[Any], Any] | None = None, epochs: int | None = None
) -> dict[str, Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader

    images, labels = data(quick)
    kind = Rows if function is None else MappedRows

    def build() -> Any:
        rows: Any = kind(from_numpy(images), from_numpy(labels), function)
        return DataLoader(rows, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)

    return timed(build, quick, epochs)


def millrace(quick: bool, epochs: int | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, epochs=epochs)


def mindspore(quick: bool, workers: int | None = None, epochs: int | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, workers=workers, epochs=epochs)


def torch(quick: bool, workers: int = 0, epochs: int | None = None) -> dict[str, Any]:
    return like_torch(quick, workers, epochs=epochs)


def torch_numpy(quick: bool) -> dict[str, Any]:
    from torch.utils.data import DataLoader

    rows: Any = Rows(*data(quick))
    return timed(lambda: DataLoader(rows, BATCH, shuffle=True), quick)


# --- peers whose users write it otherwise; a function, where there is one, is called where they would call it ----


def shuffled(source: Any, random: Any) -> Any:
    """The rows of an epoch, for engines that take a Python generator and shuffle no source."""
    for i in random.permutation(len(source)):
        yield source[i]


def like_tensorflow(quick: bool, function: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    import tensorflow as tf

    source = Rows(*data(quick))
    random = np.random.default_rng(1)
    kinds = (tf.TensorSpec((28, 28, 1), tf.float32), tf.TensorSpec((), tf.int32))

    def build() -> Any:
        rows = tf.data.Dataset.from_generator(lambda: shuffled(source, random), output_signature=kinds)
        if function is not None:
            rows = rows.map(lambda image, label: (_called(function, image), label), tf.data.AUTOTUNE)
        return Again(rows.batch(BATCH).prefetch(tf.data.AUTOTUNE).as_numpy_iterator)

    return timed(build, quick)


def _called(function: Callable[[Any], Any], image: Any) -> Any:
    import tensorflow as tf

    made = tf.numpy_function(function, [image], tf.float32)
    made.set_shape(image.shape)
    return made


def like_grain(quick: bool, threads: int, function: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    import grain as g

    source: Any = Rows(*data(quick))

    def build() -> Any:
        rows = g.MapDataset.source(source).shuffle(seed=1)
        if function is not None:
            rows = rows.map(lambda row: (function(row[0]), row[1]))
        batches = rows.batch(BATCH).repeat()
        options = g.ReadOptions(num_threads=threads, prefetch_buffer_size=16)
        return Stream(batches.to_iter_dataset(options), -(-len(source) // BATCH))

    return timed(build, quick)


def like_dali(quick: bool, function: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    from nvidia.dali import fn

    from benchmarks.images.dali import run

    source = Rows(*data(quick))
    order = np.random.default_rng(1).permutation(len(source))

    def row(info: Any) -> Any:
        image, label = source[order[info.idx_in_epoch % len(order)]]
        return image if function is None else function(image), np.array([label])

    def define() -> Any:
        return tuple(fn.external_source(row, num_outputs=2, batch=False))

    return timed(lambda: run(define, -(-len(source) // BATCH), 2, BATCH), quick)


def like_webdataset(quick: bool, function: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    import webdataset as wds

    source = Rows(*data(quick))

    def rows() -> Any:
        for i in range(len(source)):
            yield source[i]

    # the labels to Python's int: its collation stacks no numpy scalars
    both = (function or (lambda image: image), int)

    def build() -> Any:
        pipeline = wds.DataPipeline(rows, wds.shuffle(1000), wds.map_tuple(*both), wds.batched(BATCH))
        return Again(lambda: iter(pipeline))

    return timed(build, quick)


def like_huggingface(quick: bool, function: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    import datasets

    source = Rows(*data(quick))
    kinds = datasets.Features(
        {"image": datasets.Array3D((28, 28, 1), "float32"), "label": datasets.Value("int32")}
    )

    def rows() -> Any:
        for image, label in (source[i] for i in range(len(source))):
            yield {"image": image, "label": label}

    def build() -> Any:
        table = datasets.IterableDataset.from_generator(rows, features=kinds).shuffle(buffer_size=1000)
        table = table.with_format("numpy")
        if function is not None:
            table = table.map(lambda row: {"image": function(row["image"])})
        return Again(lambda: (tuple(batch.values()) for batch in table.iter(BATCH)))

    return timed(build, quick)


VARIANTS = {
    "millrace": {"default": millrace},
    "mindspore": {"default": mindspore, "2 workers": lambda quick: mindspore(quick, 2)},
    "torch": {
        "0 workers": torch,
        "2 workers": lambda quick: torch(quick, 2),
        "0 workers, numpy rows": torch_numpy,
    },
    "tensorflow": {"from_generator": like_tensorflow},
    "grain": {
        "1 thread": lambda quick: like_grain(quick, 1),
        "2 threads": lambda quick: like_grain(quick, 2),
    },
    "dali": {"external source": like_dali},
    "webdataset": {"DataPipeline": like_webdataset},
    "huggingface": {"from_generator": like_huggingface},
}

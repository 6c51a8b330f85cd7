"""Text lines: one file, a row per line, batched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import folder, kept, seconds
from benchmarks.measure import Again, Stream, loop

from . import STREAM, Bar, in_order_and_shuffled

TITLE = "Text lines"
QUESTION = "400,000 lines of about 60 letters, batch 256"
NOTE = (
    "In order, and shuffled. Millrace and MindSpore run the same lines: TextFileDataset, batch (MindSpore shuffles "
    "within a window of its own). tf.data: TextLineDataset, a shuffle buffer of 10,000. PyTorch: an IterableDataset "
    "over the file, shuffled the list of all lines in memory; Grain: that list. Hugging Face: load_dataset('text', "
    "streaming=True), a shuffle buffer of 10,000. A batch is a numpy array in all."
)
WHY = {
    "torch": (
        "in order, it is a bare loop over the file; shuffled, it holds every line in memory as a string and picks from "
        "that list, where Millrace reads lines by offset and needs no memory for the file."
    ),
    "tensorflow": (
        "it shuffles within a buffer of lines that it reads in order; Millrace picks each line from all of the file."
    ),
}
FILES = ("millrace",)
# two questions, not two ways to do one
PAIRED = True
METRICS = STREAM
BARS = (
    Bar("at least 3 times MindSpore", "rows_per_s", ratio=3),
    Bar("at least 1.5 times tf.data", "rows_per_s", ratio=1.5, peer="tensorflow"),
    Bar("level with a bare loop (PyTorch)", "rows_per_s", ratio=1, peer="torch", variant="in order"),
)

BATCH = 256


def write(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for n in range(rows):
            file.write(f"This is line number {n} of a text file with some words in it.\n")


def count(quick: bool) -> int:
    return 600 if quick else 400_000


def path(quick: bool) -> Path:
    name = f"lines-{'quick' if quick else 'full'}.txt"
    return kept(folder() / name, lambda p: write(p, count(quick)))


def timed(build: Any, quick: bool) -> dict[str, Any]:
    return loop(build, seconds(quick), rows=count(quick))


def like_mindspore(ds: Any, quick: bool, shuffle: bool = False) -> dict[str, Any]:
    file = str(path(quick))

    def build() -> Any:
        data = ds.TextFileDataset(file, shuffle=shuffle)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return timed(build, quick)


def millrace(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, shuffle)


def mindspore(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, shuffle)


def tensorflow(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import tensorflow as tf

    file = str(path(quick))

    def build() -> Any:
        lines = tf.data.TextLineDataset(file)
        if shuffle:
            lines = lines.shuffle(10_000)
        batches = lines.batch(BATCH).prefetch(tf.data.AUTOTUNE)
        return Again(lambda: ((batch,) for batch in batches.as_numpy_iterator()))

    return timed(build, quick)


def torch(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    from torch.utils.data import DataLoader, IterableDataset

    class File(IterableDataset):  # type: ignore[type-arg,misc]
        def __iter__(self) -> Any:
            with path(quick).open() as file:
                for line in file:
                    yield line.rstrip("\n")

    def build() -> Any:
        rows: Any = path(quick).read_text().splitlines() if shuffle else File()
        return DataLoader(rows, BATCH, shuffle=shuffle, collate_fn=lambda lines: (np.array(lines),))

    return timed(build, quick)


def grain(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import grain as g

    lines = path(quick).read_text().splitlines()

    def build() -> Any:
        rows = g.MapDataset.source(lines)
        rows = (rows.shuffle(seed=1) if shuffle else rows).batch(BATCH).repeat()
        batches = rows.to_iter_dataset(g.ReadOptions(num_threads=1, prefetch_buffer_size=16))
        return Stream(((batch,) for batch in batches), -(-len(lines) // BATCH))

    return timed(build, quick)


def huggingface(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import datasets

    def build() -> Any:
        table = datasets.load_dataset("text", data_files=str(path(quick)), split="train", streaming=True)
        if shuffle:
            table = table.shuffle(buffer_size=10_000)
        return Again(lambda: ((np.array(batch["text"]),) for batch in table.iter(BATCH)))

    return timed(build, quick)


VARIANTS = in_order_and_shuffled(
    {
        "millrace": millrace,
        "mindspore": mindspore,
        "torch": torch,
        "tensorflow": tensorflow,
        "grain": grain,
        "huggingface": huggingface,
    }
)

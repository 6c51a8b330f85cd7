"""CSV: files of twenty columns, split, typed and batched."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import folder, kept, seconds
from benchmarks.measure import Again, loop

from . import STREAM, Bar

TITLE = "CSV"
QUESTION = "20 columns (9 int, 9 float, 2 text), batch 256"
NOTE = (
    "One file of 100,000 records, in order; once typed, once with every column as text. Millrace and MindSpore run the "
    "same lines. tf.data: whole batches of lines through decode_csv, AUTOTUNE. PyTorch: an IterableDataset over "
    "csv.reader. Hugging Face: load_dataset('csv', streaming=True) with the numpy format, so that it parses as the "
    "others do in every epoch."
)
WHY = {"tensorflow": "decode_csv parses a whole batch of lines in one call of compiled code, on all cores."}
FILES = ("millrace",)
# two questions, not two ways to do one
PAIRED = True
METRICS = STREAM
BARS = (
    Bar("at least 5 times MindSpore", "rows_per_s", ratio=5),
    Bar("at least 1.2 times tf.data", "rows_per_s", ratio=1.2, peer="tensorflow", variant="typed"),
)

BATCH = 256
NAMES = [f"c{n}" for n in range(20)]
TYPES: list[Any] = [0] * 9 + [0.0] * 9 + ["", ""]


def write(path: Path, rows: int) -> None:
    random = np.random.default_rng(0)
    ints, floats = random.integers(0, 10_000, (rows, 9)).tolist(), random.random((rows, 9)).tolist()
    with path.open("w") as file:
        for n in range(rows):
            numbers = [str(value) for value in ints[n]] + [f"{value:.4f}" for value in floats[n]]
            file.write(",".join([*numbers, "red", f"name {n % 100}"]) + "\n")


def count(quick: bool) -> int:
    return 600 if quick else 100_000


def path(quick: bool) -> Path:
    name = f"twenty-{'quick' if quick else 'full'}.csv"
    return kept(folder() / name, lambda p: write(p, count(quick)))


def timed(build: Any, quick: bool) -> dict[str, Any]:
    return loop(build, seconds(quick), rows=count(quick))


def like_mindspore(ds: Any, quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    file = str(path(quick))

    def build() -> Any:
        data = ds.CSVDataset(file, column_defaults=types, column_names=NAMES, shuffle=False)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return timed(build, quick)


def millrace(quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, types)


def mindspore(quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, types)


def tensorflow(quick: bool, types: list[Any]) -> dict[str, Any]:
    import tensorflow as tf

    file = str(path(quick))

    def build() -> Any:
        lines = tf.data.TextLineDataset(file).batch(BATCH)
        batches = lines.map(lambda some: tf.io.decode_csv(some, types), tf.data.AUTOTUNE)
        return Again(batches.prefetch(tf.data.AUTOTUNE).as_numpy_iterator)

    return timed(build, quick)


def torch(quick: bool, types: list[Any]) -> dict[str, Any]:
    from torch.utils.data import DataLoader, IterableDataset

    kinds = [type(value) for value in types]

    class Lines(IterableDataset):  # type: ignore[type-arg,misc]
        def __iter__(self) -> Any:
            with path(quick).open(newline="") as file:
                for row in csv.reader(file):
                    yield [kind(value) for kind, value in zip(kinds, row, strict=True)]

    return timed(lambda: DataLoader(Lines(), BATCH), quick)


def huggingface(quick: bool, types: list[Any]) -> dict[str, Any]:
    import datasets

    name = {int: "int32", float: "float32", str: "string"}
    kinds = datasets.Features({k: datasets.Value(name[type(v)]) for k, v in zip(NAMES, types, strict=True)})
    options: dict[str, Any] = {"split": "train", "column_names": NAMES, "features": kinds}

    def build() -> Any:
        table = datasets.load_dataset("csv", data_files=str(path(quick)), streaming=True, **options)
        table = table.with_format("numpy")
        return Again(lambda: (tuple(batch.values()) for batch in table.iter(BATCH)))

    return timed(build, quick)


VARIANTS = {
    "millrace": {"typed": lambda quick: millrace(quick, TYPES), "all text": millrace},
    "mindspore": {"typed": lambda quick: mindspore(quick, TYPES), "all text": mindspore},
    "torch": {"typed": lambda quick: torch(quick, TYPES)},
    "tensorflow": {
        "typed": lambda quick: tensorflow(quick, TYPES),
        "all text": lambda quick: tensorflow(quick, [""] * len(NAMES)),
    },
    "huggingface": {"typed": lambda quick: huggingface(quick, TYPES)},
}

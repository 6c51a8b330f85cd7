"""CSV: files of twenty columns, split, typed and batched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import loop

from . import STREAM, Bar
from .files import folder, kept, seconds

QUESTION = "CSV: 20 columns (9 int, 9 float, 2 text), batch 256"
NOTE = "The same lines on one file of 100,000 records; once typed by column_defaults, once with every column as text."
METRICS = STREAM
BARS = (Bar("at least 5 times MindSpore", "rows_per_s", ratio=5),)

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


def like_mindspore(ds: Any, quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    path = kept(
        folder() / f"twenty-{'quick' if quick else 'full'}.csv", lambda p: write(p, 600 if quick else 100_000)
    )

    def build() -> Any:
        data = ds.CSVDataset(str(path), column_defaults=types, column_names=NAMES, shuffle=False)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick))


def millrace(quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, types)


def mindspore(quick: bool, types: list[Any] | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, types)


VARIANTS = {
    "millrace": {"typed": lambda quick: millrace(quick, TYPES), "all text": millrace},
    "mindspore": {"typed": lambda quick: mindspore(quick, TYPES), "all text": mindspore},
}

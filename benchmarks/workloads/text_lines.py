"""Text lines: one file, a row per line, batched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.measure import loop

from . import STREAM, Bar
from .files import folder, kept, seconds

QUESTION = "Text lines: 400,000 lines of about 60 letters, batch 256"
NOTE = (
    "The same lines: TextFileDataset, batch; in order, and shuffled (MindSpore: within a window of its own)."
)
METRICS = STREAM
BARS = (Bar("at least 3 times MindSpore", "rows_per_s", ratio=3),)

BATCH = 256


def write(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for n in range(rows):
            file.write(f"This is line number {n} of a text file with some words in it.\n")


def like_mindspore(ds: Any, quick: bool, shuffle: bool = False) -> dict[str, Any]:
    path = kept(
        folder() / f"lines-{'quick' if quick else 'full'}.txt", lambda p: write(p, 600 if quick else 400_000)
    )

    def build() -> Any:
        data = ds.TextFileDataset(str(path), shuffle=shuffle)
        return data.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick))


def millrace(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, shuffle)


def mindspore(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, shuffle)


VARIANTS = {
    "millrace": {"in order": millrace, "shuffled": lambda quick: millrace(quick, True)},
    "mindspore": {"in order": mindspore, "shuffled": lambda quick: mindspore(quick, True)},
}

"""MindRecord rows of ten scalars, shuffled, in batches: what does a row cost?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.data import folder, kept, seconds
from benchmarks.data.mindrecords import SCALARS, prepared, scalar_rows
from benchmarks.measure import Again, loop

from . import STREAM, Bar

TITLE = "MindRecord scalars"
QUESTION = "50,000 rows of 10 scalar fields, shuffled, batch 256"
NOTE = (
    "The same file and the same lines for Millrace and MindSpore: MindDataset(file).batch(256). The file is in the "
    "page cache. Hugging Face: the same rows in its Arrow format, read with the numpy format, shuffled by an index."
)
FILES = ("millrace", "huggingface")
METRICS = STREAM
BARS = (Bar("at least 10 times MindSpore", "rows_per_s", ratio=10),)


def count(quick: bool) -> int:
    return 2_000 if quick else 50_000


def like_mindspore(dataset: Any, records: Any, quick: bool) -> dict[str, Any]:
    path = prepared(records, "scalars", count(quick))

    def build() -> Any:
        return dataset(path).batch(256).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=count(quick))


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.mindrecord as records
    from millrace._src.data.sources.mindrecord import MindDataset

    return like_mindspore(MindDataset, records, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds
    import mindspore.mindrecord as records

    return like_mindspore(ds.MindDataset, records, quick)


def huggingface(quick: bool) -> dict[str, Any]:
    import datasets

    def write(path: Path) -> None:
        kinds = datasets.Features({name: datasets.Value(e["type"]) for name, e in SCALARS.items()})
        datasets.Dataset.from_list(scalar_rows(count(quick)), features=kinds).save_to_disk(str(path))

    path = kept(folder() / f"arrow-scalars-{count(quick)}", write)

    def build() -> Any:
        table = datasets.load_from_disk(str(path)).with_format("numpy")
        return Again(lambda: (tuple(batch.values()) for batch in table.shuffle().iter(256)))

    return loop(build, seconds(quick), rows=count(quick))


VARIANTS = {
    "millrace": {"MindDataset": millrace},
    "mindspore": {"MindDataset": mindspore},
    "huggingface": {"Arrow, numpy format": huggingface},
}

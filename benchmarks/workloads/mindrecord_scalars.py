"""MindRecord rows of ten scalars, shuffled, in batches: what does a row cost?"""

from __future__ import annotations

from typing import Any

from benchmarks.measure import loop

from . import STREAM, Bar
from .mindrecord_files import prepared

QUESTION = "MindRecord: 50,000 rows of 10 scalar fields, shuffled, batch 256"
NOTE = (
    "The same file and the same lines for both: MindDataset(file).batch(256). The file is in the page cache."
)
METRICS = STREAM
BARS = (Bar("at least 10 times MindSpore", "rows_per_s", ratio=10),)


def like_mindspore(dataset: Any, records: Any, quick: bool) -> dict[str, Any]:
    path = prepared(records, "scalars", 2_000 if quick else 50_000)

    def build() -> Any:
        return dataset(path).batch(256).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, 0.05 if quick else 2.0)


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.mindrecord as records
    from millrace.sources.records import MindDataset

    return like_mindspore(MindDataset, records, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds
    import mindspore.mindrecord as records

    return like_mindspore(ds.MindDataset, records, quick)


VARIANTS = {"millrace": {"MindDataset": millrace}, "mindspore": {"MindDataset": mindspore}}

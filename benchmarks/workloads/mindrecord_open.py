"""A MindRecord set of a million rows: how long until it is open, and how much memory does that take?"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.data.mindrecords import prepared
from benchmarks.measure import ready, reset_peak, status_mb

from . import FIRST, Bar, Metric

TITLE = "MindRecord open, 1 M rows"
QUESTION = "10 scalar fields, shuffled, and the first batch of 256"
NOTE = (
    "MindDataset(file), its size asked for; then the first batch. Memory is what opening adds to the process."
)
OPEN = Metric("open_s", "open", "s")
ADDED = Metric("open_mb", "memory added by opening", "MiB")
WHY = {
    "mindspore": "both only look up the number of rows, in milliseconds; MindSpore's work comes with the first batch."
}
FILES = ("millrace",)
ROUNDS = 2
METRICS = (OPEN, ADDED, FIRST)
BARS = (
    Bar("opened in under 0.5 s", "open_s", below=0.5),
    Bar("with less than 200 MB", "open_mb", below=200),
)


def measured(dataset: Any, records: Any, quick: bool) -> dict[str, Any]:
    path = prepared(records, "scalars", 2_000 if quick else 1_000_000)
    ready()
    before = reset_peak()
    began = time.perf_counter()
    data = dataset(path)
    rows = data.get_dataset_size()
    opened, added = time.perf_counter() - began, status_mb("VmHWM") - before
    next(iter(data.batch(256).create_tuple_iterator(num_epochs=1, output_numpy=True)))
    return {"rows": rows, "open_s": opened, "open_mb": added, "first_batch_s": time.perf_counter() - began}


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.mindrecord as records
    from millrace._src.data.sources.mindrecord import MindDataset

    return measured(MindDataset, records, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds
    import mindspore.mindrecord as records

    return measured(ds.MindDataset, records, quick)


VARIANTS = {"millrace": {"MindDataset": millrace}, "mindspore": {"MindDataset": mindspore}}

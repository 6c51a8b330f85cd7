"""MindRecord rows of a 100 KB image and a label, not decoded: how fast do bytes come?"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data import seconds
from benchmarks.data.mindrecords import prepared
from benchmarks.measure import cpu_seconds, peak_mb, ready

from . import CPU, FIRST, PEAK, RATE, Bar

TITLE = "MindRecord 100 KB rows, not decoded"
QUESTION = "4,000 rows of 100 KB and a label, shuffled"
NOTE = (
    "The same file and the same lines for both, row by row; one byte of every 4 KB page of each image is read, so "
    "that bytes which are only mapped are not counted as delivered. The file is in the page cache."
)
FILES = ("millrace",)
METRICS = (RATE, FIRST, PEAK, CPU)
BARS = (Bar("at least 2 times MindSpore", "rows_per_s", ratio=2),)


def like_mindspore(dataset: Any, records: Any, quick: bool) -> dict[str, Any]:
    path = prepared(records, "bytes", 100 if quick else 4_000)
    ready()
    began = time.perf_counter()
    pipeline = dataset(path).create_tuple_iterator(num_epochs=-1, output_numpy=True)
    rows, total = 0, 0
    first = busy = start = 0.0
    limit = seconds(quick)
    for epoch in range(1000):
        if epoch == 1:
            rows, busy, start = 0, cpu_seconds(), time.perf_counter()
        for data, _ in pipeline:
            if not first:
                first = time.perf_counter() - began
            total += int(np.frombuffer(data, np.uint8)[::4096].sum())
            rows += 1
        if epoch and time.perf_counter() - start > limit:
            break
    spent = time.perf_counter() - start
    return {
        "first_batch_s": first,
        "rows": rows,
        "checksum": total,
        "seconds": spent,
        "rows_per_s": rows / spent,
        "cpu_s_per_1k": (cpu_seconds() - busy) / rows * 1000,
        "peak_mb": peak_mb(),
    }


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.mindrecord as records
    from millrace._src.data.sources.mindrecord import MindDataset

    return like_mindspore(MindDataset, records, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds
    import mindspore.mindrecord as records

    return like_mindspore(ds.MindDataset, records, quick)


VARIANTS = {"millrace": {"MindDataset": millrace}, "mindspore": {"MindDataset": mindspore}}

"""MindRecord files written: rows of ten scalars through FileWriter."""

from __future__ import annotations

import tempfile
import time
from typing import Any

from benchmarks.data.mindrecords import SCALARS, scalar_rows, write
from benchmarks.measure import cpu_seconds, peak_mb

from . import CPU, PEAK, RATE, Bar

TITLE = "MindRecord write"
QUESTION = "50,000 rows of 10 scalar fields, 1,000 a call"
NOTE = (
    "FileWriter, one shard, index on all fields, from the first call to the end of commit(). Millrace reads back "
    "and syncs what it wrote before the file gets its name; MindSpore does neither."
)
METRICS = (RATE, PEAK, CPU)
BARS = (Bar("at least 5 times MindSpore", "rows_per_s", ratio=5),)


def measured(records: Any, quick: bool, **options: Any) -> dict[str, Any]:
    rows = scalar_rows(1_000 if quick else 50_000)
    best: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1 if quick else 3):
            busy, began = cpu_seconds(), time.perf_counter()
            write(records, f"{folder}/x{number}", SCALARS, rows, 1000, **options)
            spent = time.perf_counter() - began
            found = {
                "rows": len(rows),
                "seconds": spent,
                "rows_per_s": len(rows) / spent,
                "cpu_s_per_1k": (cpu_seconds() - busy) / len(rows) * 1000,
            }
            if not best or found["rows_per_s"] > best["rows_per_s"]:
                best = found
    return best | {"peak_mb": peak_mb()}


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.mindrecord as records

    return measured(records, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.mindrecord as records

    return measured(records, quick)


VARIANTS = {"millrace": {"FileWriter": millrace}, "mindspore": {"FileWriter": mindspore}}

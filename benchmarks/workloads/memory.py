"""A shuffle that wants more memory than it may have: does the byte budget hold?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import MIB, reset_peak, status_mb

from . import Bar, Metric

TITLE = "Byte budget"
QUESTION = "peak memory of a shuffled stream under a byte budget"
NOTE = (
    "A Python generator of 64 KiB rows, shuffle(8,192), batch 64, two epochs: the shuffle alone would hold 512 MiB. "
    "The peak is the process's high-water mark above what it held when the pipeline was built; the bar is the budget "
    "plus one batch (4 MiB). MindSpore has no budget; its shuffle fills its buffer."
)
WHY = {
    "mindspore": (
        "without a budget Millrace holds two windows of rows, the one that empties and the one that fills: that makes "
        "the order a function of the seed, so that a run can be resumed in the middle."
    ),
}
METRICS = (
    Metric("peak_above_mb", "peak above base", "MiB"),
    Metric("over_mb", "above budget + one batch", "MiB"),
    Metric("budget_mb", "budget", "MiB"),
    Metric("rows_per_s", "rows/s", higher=True),
)
BARS = (Bar("within the budget plus one batch", "over_mb", below=0.0),)

# A budget has no counterpart elsewhere; only the runs without one are set side by side.
PAIRED = True

SIDE = 128
BATCH = 64
ROW_MB = SIDE * SIDE * 4 / MIB


def _rows(count: int) -> Iterator[tuple[Any]]:
    for i in range(count):
        yield (np.full((SIDE, SIDE), i, np.float32),)


def shuffled(ds: Any, quick: bool) -> dict[str, Any]:
    window, count = (256, 512) if quick else (8_192, 16_384)
    rows = ds.GeneratorDataset(lambda: _rows(count), ["x"])
    base = reset_peak()
    began, seen = time.perf_counter(), 0
    iterator = rows.shuffle(window).batch(BATCH).create_tuple_iterator(num_epochs=2, output_numpy=True)
    for _ in range(2):
        for batch in iterator:
            seen += batch[0].shape[0]
    spent = time.perf_counter() - began
    return {"peak_above_mb": status_mb("VmHWM") - base, "rows_per_s": seen / spent}


def _millrace(budget_mb: int | None) -> Callable[[bool], dict[str, Any]]:
    def run(quick: bool) -> dict[str, Any]:
        import millrace.dataset as ds

        # pages that the first run of any pipeline brings in (plan, threads, numpy) are not the shuffle's
        for _ in (
            ds.GeneratorDataset(lambda: _rows(4), ["x"])
            .shuffle(4)
            .batch(2)
            .create_tuple_iterator(num_epochs=1)
        ):
            pass
        if budget_mb is not None:
            ds.config.set_memory_budget(budget_mb * MIB)
        measured = shuffled(ds, quick)
        if budget_mb is not None:
            over = measured["peak_above_mb"] - (budget_mb + BATCH * ROW_MB)
            measured |= {"budget_mb": budget_mb, "over_mb": over}
        return measured

    return run


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds

    return shuffled(ds, quick)


VARIANTS = {
    "millrace": {
        "budget 64 MiB": _millrace(64),
        "budget 128 MiB": _millrace(128),
        "budget 256 MiB": _millrace(256),
        "no budget": _millrace(None),
    },
    "mindspore": {"no budget": mindspore},
}

"""JPEG files on worker processes and on a Ray instance of the same machine: what does the way through Ray cost?"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.data import pictures
from benchmarks.images import BATCH, LABELLED, MEAN, SIDE, STD
from benchmarks.measure import check, ready

from . import Bar, Metric

TITLE = "JPEG on Ray"
QUESTION = "the same files, decode, random resized crop to 224, flip, normalise, CHW, batch 32, on 2 workers"
NOTE = (
    "`dataset.run_on('processes')` and `dataset.run_on('ray')`, 2 workers each, the latter over a Ray that the program "
    "has started on this machine. They run in turns, so that what else the machine does meets both: in each turn a "
    "pipeline is built, gives one epoch, and is then timed over some more; the best turn of each counts. The first "
    "batch on Ray includes its start."
)
METRICS = (
    Metric("rows_per_s", "rows/s on Ray", higher=True),
    Metric("processes_rows_per_s", "rows/s on processes", higher=True),
    Metric("percent", "slower than processes by", "%"),
    Metric("first_batch_s", "first batch on Ray", "s"),
)
BARS = (Bar("at most 10 % behind worker processes", "percent", below=10.0),)
FILES = ("millrace",)
WORKERS, TURNS, EPOCHS = 2, 4, 4
# what both hold ready, 16 batches of 19 MB, lies in the store
STORE = 1_200_000_000


def _pipeline(where: str, quick: bool) -> Any:
    import millrace.dataset as ds
    from millrace.dataset import vision

    rows = ds.ImageFolderDataset(str(pictures.classes(quick)), shuffle=True, num_parallel_workers=WORKERS)
    steps = [
        vision.RandomCropDecodeResize(SIDE),
        vision.RandomHorizontalFlip(),
        vision.Normalize(MEAN, STD),
        vision.HWC2CHW(),
    ]
    rows = rows.map(steps, ["image"], num_parallel_workers=WORKERS).batch(BATCH)
    return rows.run_on(where).create_tuple_iterator(num_epochs=-1, output_numpy=True)


def _turn(where: str, quick: bool, epochs: int) -> tuple[float, float]:
    """Rows per second after the first epoch, and when the first batch was there."""
    rows = pictures.count(quick)
    pipeline = _pipeline(where, quick)
    batches = iter(pipeline)
    check(next(batches), LABELLED)
    first = time.perf_counter()
    for _ in batches:
        pass
    began, seen = time.perf_counter(), 0
    for _ in range(epochs):
        seen += sum(len(batch[0]) for batch in pipeline)
    took = time.perf_counter() - began
    pipeline.stop()
    if seen != epochs * rows:
        raise AssertionError(f"{epochs} epochs had {seen} rows, not {epochs * rows}")
    return seen / took, first


def measured(quick: bool) -> dict[str, Any]:
    ready()
    turns, epochs = (1, 2) if quick else (TURNS, EPOCHS)
    rates: dict[str, list[float]] = {"processes": [_turn("processes", quick, epochs)[0]], "ray": []}
    began = time.perf_counter()
    with _ray():
        rate, first = _turn("ray", quick, epochs)
        rates["ray"].append(rate)
        for turn in range(1, turns):
            for where in sorted(rates, reverse=bool(turn % 2)):
                rates[where].append(_turn(where, quick, epochs)[0])
    best = {where: max(each) for where, each in rates.items()}
    return {
        "rows_per_s": best["ray"],
        "processes_rows_per_s": best["processes"],
        "percent": 100 * (1 - best["ray"] / best["processes"]),
        "first_batch_s": first - began,
    }


@contextlib.contextmanager
def _ray() -> Iterator[None]:
    """Ray on this machine, as a program starts it that makes several iterators."""
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    import ray

    # sockets lie in it, whose names must be short
    with tempfile.TemporaryDirectory(prefix="mr-", dir="/tmp") as folder:
        ray.init(
            "local",
            num_cpus=WORKERS,
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=STORE,
            logging_level="ERROR",
            _temp_dir=folder,
        )
        try:
            yield
        finally:
            ray.shutdown(wait_for_processes=True)


VARIANTS = {"millrace": {"2 workers": measured}}

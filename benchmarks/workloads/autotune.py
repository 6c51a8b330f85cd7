"""Four pipelines with one worker and nothing ready ahead: how near does autotune come to numbers set by hand?"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import ready

from . import Bar, Metric

TITLE = "Autotune from bad settings"
QUESTION = (
    "1 worker and prefetch 1: the rate from step 200 on, as a share of the best rate with numbers set by hand"
)
NOTE = (
    "Most of what a row costs is waiting (a disk, a network), so that two cores can show it. *JPEG*: 20 ms until the "
    "file is there, then decoded and resized. *Reader*: a Python object whose rows take 20 ms, on 2 threads, the "
    "fewest that say that it may be read by several. *Processes*: a Python function of 20 ms on worker processes. "
    "*Two maps*: one of 20 ms on threads, one of 10 ms on processes. Batches of 8; JPEG and two maps feed a step of 15 "
    "ms, the others a bare loop. By hand: 1, 2, 4, 8 and 16 workers (8 processes) with the usual prefetch, steps 12 to "
    "28; the best of them once more before and once after autotune, steps 20 to 180. Autotune: "
    "set_num_parallel_workers(1), set_prefetch_size(1), set_enable_autotune(True), steps 200 to 360."
)
METRICS = (
    Metric("missing_percent", "less than the best by hand", "%", digits=2),
    Metric("tuned_rows_per_s", "tuned rows/s", higher=True),
    Metric("hand_rows_per_s", "best by hand, rows/s", higher=True),
    Metric("bad_rows_per_s", "before, rows/s", higher=True),
)
BARS = (Bar("at most 10 % behind the best by hand within 200 steps", "missing_percent", below=10),)
# several questions, not several ways to do one
PAIRED = True
ROUNDS = 1

BATCH = 8
ROWS = 1 << 20
WORKERS = (1, 2, 4, 8, 16)
# Steps that are measured: to find the best by hand, of that one, and with autotune. Sixteen workers that make a batch
# each bring sixteen at a time, so all are multiples of that.
FINDING, BY_HAND, TUNED = (12, 28), (20, 180), (200, 360)
QUICK = (2, 6)


def waits(value: Any) -> Any:
    time.sleep(0.02)
    return value


def in_worker(value: Any) -> Any:
    time.sleep(0.01)
    return value


def slow_function(value: Any) -> Any:
    time.sleep(0.02)
    return value + sum(range(500)) * 0


class Latency:
    """Rows that come from far away."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> tuple[Any]:
        time.sleep(0.02)
        return (np.full(16, index, np.float32),)


def _numbers(ds: Any) -> Any:
    return ds.NumpySlicesDataset({"x": np.arange(ROWS, dtype=np.float32)}, shuffle=False)


def jpeg(ds: Any, workers: int) -> Any:
    from millrace.dataset import vision

    picture = np.random.default_rng(0).integers(0, 255, (96, 128, 3)).astype(np.uint8)
    encoded = vision.encode_jpeg(picture)
    data = ds.NumpySlicesDataset({"x": np.stack([encoded] * 64)}, shuffle=False).repeat(ROWS // 64)
    return data.map([waits, vision.Decode(), vision.Resize((64, 64))], ["x"])


def reader(ds: Any, workers: int) -> Any:
    threads = {"num_parallel_workers": max(2, workers), "python_multiprocessing": False}
    return ds.GeneratorDataset(Latency(), ["x"], shuffle=False, **threads)


def processes(ds: Any, workers: int) -> Any:
    few = min(8, workers)
    return _numbers(ds).map(slow_function, ["x"], python_multiprocessing=True, num_parallel_workers=few)


def two_maps(ds: Any, workers: int) -> Any:
    few = min(8, workers)
    data = _numbers(ds).map(waits, ["x"], num_parallel_workers=workers)
    return data.map(in_worker, ["x"], python_multiprocessing=True, num_parallel_workers=few)


def _rate(data: Any, step: float, part: tuple[int, int]) -> float:
    """Rows per second between two steps."""
    begin, end = part
    began = 0.0
    with data.batch(BATCH).create_tuple_iterator(num_epochs=1, output_numpy=True) as iterator:
        for number, _ in enumerate(itertools.islice(iterator, end + 1)):
            if number == begin:
                began = time.perf_counter()
            if step and number < end:
                time.sleep(step)
        took = time.perf_counter() - began
    return (end - begin) * BATCH / took


def measured(quick: bool, build: Callable[[Any, int], Any], step: float = 0.0) -> dict[str, Any]:
    import millrace.dataset as ds

    ready()

    def by_hand(workers: int, part: tuple[int, int]) -> float:
        ds.config.set_num_parallel_workers(workers)
        ds.config.set_prefetch_size(16)
        ds.config.set_enable_autotune(False)
        return _rate(build(ds, workers), step, QUICK if quick else part)

    rates = {workers: by_hand(workers, FINDING) for workers in (WORKERS[:2] if quick else WORKERS)}
    best = max(rates, key=lambda workers: rates[workers])
    before = by_hand(best, BY_HAND)
    ds.config.set_num_parallel_workers(1)
    ds.config.set_prefetch_size(1)
    ds.config.set_enable_autotune(True)
    tuned = _rate(build(ds, 1), step, QUICK if quick else TUNED)
    hand = (before + by_hand(best, BY_HAND)) / 2
    return {
        "missing_percent": 100 * max(0.0, 1 - tuned / hand),
        "tuned_rows_per_s": tuned,
        "hand_rows_per_s": hand,
        "bad_rows_per_s": rates[1],
    }


VARIANTS = {
    "millrace": {
        "JPEG": functools.partial(measured, build=jpeg, step=0.015),
        "reader": functools.partial(measured, build=reader),
        "processes": functools.partial(measured, build=processes),
        "two maps": functools.partial(measured, build=two_maps, step=0.015),
    }
}

"""What does the engine add to work that needs no engine: native calls of 1 ms that release the GIL?"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from . import Bar, Metric

TITLE = "Engine overhead, 1 ms native calls"
QUESTION = "over a bare thread pool, 2 workers"
NOTE = (
    "The call is SHA-256 of a buffer sized so that one call takes 1 ms alone. The pipeline "
    "(NumpySlicesDataset, map on 2 threads, without and with batch) and a ThreadPoolExecutor(2) make the same calls "
    "in turns, in one process, start and end included; the overhead is the median over the turns of time / time of "
    "the pool beside it - 1. The same in CPU time leaves out what other programs took from the cores, and idling."
)
METRICS = (
    Metric("overhead_percent", "overhead", "%", digits=3),
    Metric("cpu_overhead_percent", "in CPU time", "%", digits=3),
    Metric("rows_per_s", "calls/s", higher=True),
    Metric("pool_rows_per_s", "bare pool, calls/s", higher=True),
    Metric("call_ms", "one call alone", "ms"),
)
BARS = (Bar("under 3 % of a bare thread pool", "overhead_percent", below=3.0),)

# two questions, not two ways to do one
PAIRED = True

WORKERS = 2
BATCH = 32


def calibrated(target: float = 1e-3) -> bytes:
    """A buffer whose hash takes about ``target`` seconds: the best of several tries, so noise does not shorten it."""
    size = 1 << 20
    for _ in range(3):
        buffer = bytes(size)
        best = min(_timed(lambda held=buffer: hashlib.sha256(held)) for _ in range(20))
        size = max(1 << 12, int(size * target / best))
    return bytes(size)


def _timed(work: Callable[[], object]) -> float:
    return _both(work)[0]


def _both(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds, of all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def _overhead(batched: bool) -> Callable[[bool], dict[str, Any]]:
    def run(quick: bool) -> dict[str, Any]:
        import millrace.dataset as ds

        calls, turns = (64, 2) if quick else (2048, 5)
        buffer = calibrated()

        def call(i: Any) -> int:
            return hashlib.sha256(buffer).digest()[0]

        def pool() -> None:
            with ThreadPoolExecutor(WORKERS) as executor:
                for _ in executor.map(call, range(calls)):
                    pass

        rows = ds.NumpySlicesDataset({"i": np.arange(calls)}, shuffle=False)
        rows = rows.map(call, input_columns=["i"], num_parallel_workers=WORKERS)
        pipeline = rows.batch(BATCH) if batched else rows

        def engine() -> None:
            for _ in pipeline.create_tuple_iterator(num_epochs=1, output_numpy=True):
                pass

        pool(), engine()
        pairs = []  # (pool, engine), each first in turn
        for turn in range(turns):
            if turn % 2:
                bare, ours = _both(pool), _both(engine)
            else:
                ours, bare = _both(engine), _both(pool)
            pairs.append((bare, ours))
        wall, cpu = (statistics.median(b[k] / a[k] for a, b in pairs) for k in (0, 1))
        return {
            "overhead_percent": 100 * (wall - 1),
            "cpu_overhead_percent": 100 * (cpu - 1),
            "rows_per_s": calls / statistics.median(ours[0] for _, ours in pairs),
            "pool_rows_per_s": calls / statistics.median(bare[0] for bare, _ in pairs),
            "call_ms": 1000 * min(_timed(lambda: call(0)) for _ in range(20)),
        }

    return run


VARIANTS = {"millrace": {"rows": _overhead(batched=False), f"batch {BATCH}": _overhead(batched=True)}}

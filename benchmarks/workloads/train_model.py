"""An epoch of MNIST's size by ``Model.train``, beside a loop by hand."""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import ready
from benchmarks.nets import NETS
from benchmarks.training import MODES
from benchmarks.workloads import Bar, Metric, Variants

TITLE = "Training: an epoch by Model.train"
QUESTION = "60,000 rows of 1 x 32 x 32, LeNet-5, batch 64, momentum, data from memory, two threads"
OF_BARE = Metric("of_bare_percent", "takes of a bare loop's CPU time", "%")
METRICS = (
    Metric("rows_per_s", "rows/s", higher=True),
    Metric("epoch_s", "epoch", "s"),
    OF_BARE,
)
NOTE = (
    "The data lie in memory as arrays and come through a dataset of their own library, batched, not shuffled. "
    "`Model.train` is called with no callback; the better of two epochs counts. The bare loop is the same step called "
    "for each batch of the same dataset. Both are taken in turns in one process, a tenth of the rows at a time, and "
    "the best of each counts: whole epochs on shared cores differ from one another by more than the two do. The first "
    "step, which records, is left out."
)
BARS = (
    Bar("at least 2 times MindSpore's Graph mode", "rows_per_s", 2.0, variant="Graph"),
    Bar("at least 4 times MindSpore's PyNative mode", "rows_per_s", 4.0, variant="PyNative"),
    Bar("within 3 % of a bare loop", OF_BARE.key, below=103),
)
PAIRED = True
ROWS, BATCH, THREADS = 60_000, 64, 2
EPOCHS, TURNS, PART = 2, 15, 10


def _measured(peer: str, mode: str, quick: bool) -> dict[str, Any]:
    ready()
    os.environ |= {
        "OMP_NUM_THREADS": str(THREADS),
        "OMP_WAIT_POLICY": "PASSIVE",
        "MKL_NUM_THREADS": str(THREADS),
    }
    ms = importlib.import_module(peer)
    for part in ("nn", "ops", "train", "dataset"):
        importlib.import_module(f"{peer}.{part}")
    ms.set_context(mode=getattr(ms, MODES[mode]), runtime_num_threads=THREADS)
    rows = 4 * BATCH if quick else ROWS
    draw = np.random.default_rng(0)
    x = draw.standard_normal((rows, 1, 32, 32), np.float32)
    y = draw.integers(0, 10, rows).astype(np.int32)

    def data(rows: int = rows) -> Any:
        made = ms.dataset.NumpySlicesDataset({"x": x[:rows], "y": y[:rows]}, shuffle=False)
        return made.batch(BATCH, drop_remainder=True)

    model, by_hand = _model(ms), _model(ms).train_network

    def bare(rows: int) -> None:
        for batch in data(rows).create_tuple_iterator(num_epochs=1):
            by_hand(*batch)

    def trained(rows: int) -> None:
        model.train(1, data(rows))

    trained(BATCH)
    bare(BATCH)
    epoch = min(_timed(trained, rows)[0] for _ in range(1 if quick else EPOCHS))
    part = rows if quick else rows // PART
    best = {"model": float("inf"), "bare": float("inf")}
    for number in range(1 if quick else TURNS):
        for name in sorted(best, reverse=bool(number % 2)):
            best[name] = min(best[name], _timed(trained if name == "model" else bare, part)[1])
    return {
        "rows_per_s": rows / epoch,
        "epoch_s": epoch,
        OF_BARE.key: 100 * best["model"] / best["bare"],
        "threads": THREADS,
    }


def _timed(way: Callable[[int], None], rows: int) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    way(rows)
    return time.perf_counter() - wall, time.process_time() - cpu


def _model(ms: Any) -> Any:
    net = NETS["lenet"].ours(ms)
    loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return ms.train.Model(net, loss, ms.nn.Momentum(net.trainable_params(), 0.01, 0.9))


VARIANTS: Variants = {
    peer: {mode: functools.partial(_measured, peer, mode) for mode in MODES}
    for peer in ("millrace", "mindspore")
}

"""An epoch of MNIST's size by ``Model.train``, beside a loop by hand."""

from __future__ import annotations

import functools
import importlib
import os
import time
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
    "`Model.train` is called with no callback. The bare loop is the same step called for each batch of the same "
    "dataset; both are taken in turns in one process, and the best of each counts. The first step, which records, is "
    "left out."
)
BARS = (
    Bar("at least 2 times MindSpore's Graph mode", "rows_per_s", 2.0, variant="Graph"),
    Bar("at least 4 times MindSpore's PyNative mode", "rows_per_s", 4.0, variant="PyNative"),
    Bar("within 3 % of a bare loop", OF_BARE.key, below=103),
)
PAIRED = True
ROWS, BATCH, THREADS, ROUNDS_INSIDE = 60_000, 64, 2, 3
ENOUGH_S = 60  # a peer that needs longer for a round than this is not asked for another


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

    def data() -> Any:
        made = ms.dataset.NumpySlicesDataset({"x": x, "y": y}, shuffle=False)
        return made.batch(BATCH, drop_remainder=True)

    model, by_hand = _model(ms), _model(ms).train_network

    def bare() -> None:
        for batch in data().create_tuple_iterator(num_epochs=1):
            by_hand(*batch)

    ways = {"model": lambda: model.train(1, data()), "bare": bare}
    model.train(1, data().take(1))
    by_hand(*next(data().create_tuple_iterator(num_epochs=1)))
    best = {name: (float("inf"), float("inf")) for name in ways}
    began = time.perf_counter()
    for number in range(1 if quick else ROUNDS_INSIDE):
        if time.perf_counter() - began > ENOUGH_S:
            break
        for name in sorted(ways, reverse=bool(number % 2)):
            wall, cpu = time.perf_counter(), time.process_time()
            ways[name]()
            took = time.perf_counter() - wall, time.process_time() - cpu
            best[name] = min(best[name][0], took[0]), min(best[name][1], took[1])
    return {
        "rows_per_s": rows / best["model"][0],
        "epoch_s": best["model"][0],
        "bare_epoch_s": best["bare"][0],
        OF_BARE.key: 100 * best["model"][1] / best["bare"][1],
        "threads": THREADS,
    }


def _model(ms: Any) -> Any:
    net = NETS["lenet"].ours(ms)
    loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return ms.train.Model(net, loss, ms.nn.Momentum(net.trainable_params(), 0.01, 0.9))


VARIANTS: Variants = {
    peer: {mode: functools.partial(_measured, peer, mode) for mode in MODES}
    for peer in ("millrace", "mindspore")
}

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
    "`Model.train` is called with no callback; the better of two epochs counts; where an epoch would take more than "
    "30 s, a tenth of it counts. The bare loop, measured for Millrace, is the same step called for each batch of the "
    "same dataset. Both are taken in turns in one process, a tenth of the rows at a time, and the best of each counts: "
    "whole epochs on shared cores differ from one another by more than the two do. The first step, which records, is "
    "left out. PyTorch: a loop over a DataLoader of a TensorDataset. Lightning: `Trainer.fit` with the same "
    "DataLoader, no logger, no checkpoints, no progress bar. Keras (on TensorFlow): `Model.fit` on the arrays, "
    "channels last."
)
BARS = (
    Bar("at least 2 times MindSpore's Graph mode", "rows_per_s", 2.0, variant="Graph"),
    Bar("at least 4 times MindSpore's PyNative mode", "rows_per_s", 4.0, variant="PyNative"),
    Bar("at most 103 % of the time of a bare loop", OF_BARE.key, below=103),
)
PAIRED = True
ROWS, BATCH, THREADS = 60_000, 64, 2
RATE, MOMENTUM = 0.01, 0.9
EPOCHS, TURNS, PART = 2, 15, 10
LONGEST = 30.0


def _threads(quick: bool) -> tuple[Any, Any]:
    """The data, when the threads of the libraries are set: they look once, when they are loaded."""
    ready()
    os.environ |= {
        "OMP_NUM_THREADS": str(THREADS),
        "OMP_WAIT_POLICY": "PASSIVE",
        "MKL_NUM_THREADS": str(THREADS),
    }
    rows = 4 * BATCH if quick else ROWS
    draw = np.random.default_rng(0)
    return draw.standard_normal((rows, 1, 32, 32), np.float32), draw.integers(0, 10, rows).astype(np.int32)


def _measured(peer: str, mode: str, quick: bool) -> dict[str, Any]:
    x, y = _threads(quick)
    rows = len(x)
    ms = importlib.import_module(peer)
    for part in ("nn", "ops", "train", "dataset"):
        importlib.import_module(f"{peer}.{part}")
    ms.set_context(mode=getattr(ms, MODES[mode]), runtime_num_threads=THREADS)

    def data(rows: int = rows) -> Any:
        made = ms.dataset.NumpySlicesDataset({"x": x[:rows], "y": y[:rows]}, shuffle=False)
        return made.batch(BATCH, drop_remainder=True)

    model, by_hand = _model(ms), _model(ms).train_network

    def bare(rows: int) -> None:
        for batch in data(rows).create_tuple_iterator(num_epochs=1):
            by_hand(*batch)

    def trained(rows: int) -> None:
        model.train(1, data(rows))

    measured = _epochs(trained, rows, quick)
    if peer != "millrace":  # the bar is Millrace's
        return measured
    bare(BATCH)
    part = rows if quick else rows // PART
    best = {"model": float("inf"), "bare": float("inf")}
    for number in range(1 if quick else TURNS):
        for name in sorted(best, reverse=bool(number % 2)):
            best[name] = min(best[name], _timed(trained if name == "model" else bare, part)[1])
    return measured | {OF_BARE.key: 100 * best["model"] / best["bare"]}


def _epochs(trained: Callable[[int], None], rows: int, quick: bool) -> dict[str, Any]:
    """The better of some epochs, after a step that records, compiles or only warms up."""
    trained(BATCH)
    part = rows if quick else rows // PART
    epoch = _timed(trained, part)[0] * rows / part
    if not quick and epoch < LONGEST:
        epoch = min(_timed(trained, rows)[0] for _ in range(EPOCHS))
    return {"rows_per_s": rows / epoch, "epoch_s": epoch, "threads": THREADS}


# --- the loops of others, as their documentation shows them ----------------------------------------------------------


def _torch_data(x: Any, y: Any) -> Any:
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    torch.set_num_threads(THREADS)
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y).long()), batch_size=BATCH)


def _by_hand(quick: bool) -> dict[str, Any]:
    x, y = _threads(quick)
    import torch

    model = NETS["lenet"].torch()
    update = torch.optim.SGD(model.parameters(), RATE, MOMENTUM)

    def trained(rows: int) -> None:
        for data, label in _torch_data(x[:rows], y[:rows]):
            update.zero_grad()
            torch.nn.functional.cross_entropy(model(data), label).backward()
            update.step()

    return _epochs(trained, len(x), quick)


def _lightning(quick: bool) -> dict[str, Any]:
    x, y = _threads(quick)
    import logging
    import warnings

    import pytorch_lightning as pl
    import torch

    # it advises more workers, and a smaller interval of logs
    warnings.simplefilter("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

    class Classifier(pl.LightningModule):  # type: ignore[misc, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = NETS["lenet"].torch()

        def training_step(self, batch: Any, place: int) -> Any:
            data, label = batch
            return torch.nn.functional.cross_entropy(self.model(data), label)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), RATE, MOMENTUM)

    model = Classifier()
    # what would write files is off, as is the bar: nobody else has one
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}

    def trained(rows: int) -> None:
        trainer = pl.Trainer(max_epochs=1, accelerator="cpu", enable_model_summary=False, **quiet)
        trainer.fit(model, _torch_data(x[:rows], y[:rows]))

    return _epochs(trained, len(x), quick)


def _keras(quick: bool) -> dict[str, Any]:
    x, y = _threads(quick)
    import keras
    import tensorflow as tf
    from keras import layers

    tf.config.threading.set_intra_op_parallelism_threads(THREADS)
    tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    x = np.ascontiguousarray(np.moveaxis(x, 1, -1))  # its convolutions on a CPU want the channels last
    model = keras.Sequential(
        [
            keras.Input((32, 32, 1)),
            layers.Conv2D(6, 5, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(16, 5, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="relu"),
            layers.Dense(84, activation="relu"),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.SGD(RATE, momentum=MOMENTUM), loss=loss)

    def trained(rows: int) -> None:
        model.fit(x[:rows], y[:rows], batch_size=BATCH, epochs=1, shuffle=False, verbose=0)

    return _epochs(trained, len(x), quick)


def _timed(way: Callable[[int], None], rows: int) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    way(rows)
    return time.perf_counter() - wall, time.process_time() - cpu


def _model(ms: Any) -> Any:
    net = NETS["lenet"].ours(ms)
    loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return ms.train.Model(net, loss, ms.nn.Momentum(net.trainable_params(), RATE, MOMENTUM))


VARIANTS: Variants = {
    **{
        peer: {mode: functools.partial(_measured, peer, mode) for mode in MODES}
        for peer in ("millrace", "mindspore")
    },
    "torch": {"a loop by hand": _by_hand},
    "lightning": {"Trainer.fit": _lightning},
    "keras": {"Model.fit": _keras},
}
PAIRS = tuple(
    (mode, peer, name)
    for mode in MODES
    for peer in ("torch", "lightning", "keras")
    for name in VARIANTS[peer]
)

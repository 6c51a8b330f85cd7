"""A training on a GPU: both modes, through the sink, stopped and resumed; all must end with the same bits.

PYTHONPATH=src CUBLAS_WORKSPACE_CONFIG=:4096:8 python -m tests.e2e.gpu.training        # where a GPU is

Ends with 1 where bits differ. BatchNorm, Dropout and Adam take part, so that statistics, random numbers and the
optimizer's state do.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import nn, train

EPOCHS, STOP = 3, 25


def data() -> Any:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((640, 1, 32, 32)).astype(np.float32)
    y = (x.mean((1, 2, 3)) > 0).astype(np.int32)
    return ds.NumpySlicesDataset({"x": x, "y": y}, shuffle=True).batch(32)


class Watch(train.Callback):
    """Keeps the losses, and stops where it is asked to."""

    def __init__(self, stop: int | None) -> None:
        self.losses: list[float] = []
        self.stop = stop

    def on_train_step_end(self, run_context: Any) -> None:
        params = run_context.original_args()
        self.losses.append(float(params.net_outputs))
        if params.cur_step_num == self.stop:
            run_context.request_stop()


def learned(mode: int, folder: str = "", stop: int | None = None, **options: Any) -> tuple[Any, list[float]]:
    """The weights after a training, and its losses."""
    ms.set_context(mode=mode)
    ms.set_seed(3)
    block = [nn.Conv2d(1, 8, 5, pad_mode="valid"), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, 2)]
    net = nn.SequentialCell(*block, nn.Flatten(), nn.Dropout(p=0.2), nn.Dense(8 * 14 * 14, 2))
    model = train.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 1e-3))
    watch = Watch(stop)
    callbacks: list[Any] = [watch]
    if folder:
        callbacks.append(train.ModelCheckpoint("net", folder, train.CheckpointConfig(7)))
    model.train(EPOCHS, data(), callbacks, **options)
    return {name: weight.asnumpy() for name, weight in net.parameters_dict().items()}, watch.losses


def main() -> int:
    """One line for each comparison with a plain run in Graph mode."""
    ms.set_context(device_target="GPU", deterministic="ON")
    weights, losses = learned(ms.GRAPH_MODE)
    bad = 0

    def compare(name: str, other: tuple[Any, list[float]]) -> None:
        nonlocal bad
        same = all(np.array_equal(weights[key], other[0][key]) for key in weights)
        same = same and losses[len(losses) - len(other[1]) :] == other[1]
        bad += not same
        print(f"{name:36} {'the same bits' if same else 'OTHER BITS'}, {len(other[1])} steps")

    compare("PyNative", learned(ms.PYNATIVE_MODE))
    for mode, name in ((ms.GRAPH_MODE, "Graph"), (ms.PYNATIVE_MODE, "PyNative")):
        with tempfile.TemporaryDirectory() as folder:
            learned(mode, folder, STOP)
            last = max(Path(folder).glob("*.ckpt"), key=lambda file: file.stat().st_mtime)
            compare(f"resumed from {last.name}, {name}", learned(mode, resume=str(last)))
    sunk, _ = learned(ms.GRAPH_MODE, dataset_sink_mode=True)
    compare("dataset_sink_mode", (sunk, losses))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

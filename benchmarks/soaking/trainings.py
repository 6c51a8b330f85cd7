"""Trainings: ended and resumed, through the sink, with checkpoints on the way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import millrace as ms
import millrace.dataset as ds
from benchmarks.soaking import Family, Place
from millrace import nn
from millrace.train import CheckpointConfig, Model, ModelCheckpoint

__all__ = ["Trainings", "trained"]

STEPS = 8


class _Count(ms.train.Callback):
    """A user's callback."""

    def __init__(self, did: Any) -> None:
        self.did = did

    def on_train_step_end(self, run_context: Any) -> None:
        self.did["training steps"] += 1


def trained(family: Family, epochs: int, folder: Path | str, sink: bool = False, **options: Any) -> bytes:
    """Train a small net, with a checkpoint every four steps; the bits of its weights."""
    ms.set_seed(1)
    x = np.linspace(0, 1, 8 * STEPS, dtype=np.float32).reshape(-1, 2)
    data = ds.NumpySlicesDataset({"x": x, "y": x[:, :1]}, shuffle=True).batch(len(x) // STEPS)
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.Adam(net.trainable_params()), metrics={"loss"})
    keep = ModelCheckpoint("r", str(folder), CheckpointConfig(4, keep_checkpoint_max=2))
    steps = family.did["training steps"]
    model.train(epochs, data, callbacks=[keep, _Count(family.did)], dataset_sink_mode=sink, **options)
    family.did["checkpoints written"] += (family.did["training steps"] - steps) // 4
    family.did["pipelines opened"] += 1
    family.did["rows read"] += (family.did["training steps"] - steps) * len(x) // STEPS
    assert np.isfinite(model.eval(data, dataset_sink_mode=sink)["loss"])
    family.did["pipelines opened"] += 1
    return bytes(net.weight.asnumpy().tobytes())


class Trainings(Family):
    """Each turn ends with the bits of a training that nothing happened to."""

    DAY: ClassVar[dict[str, int]] = {"resume_a_training": 8, "sink_a_training": 8}

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.whole = trained(self, 3, self.folder / "whole")

    def resume_a_training(self) -> None:
        """A training is ended in its middle and goes on from its checkpoint to the bits of a whole one."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        trained(self, 1, folder)
        assert trained(self, 3, folder, resume=str(folder)) == self.whole
        self.did["trainings resumed"] += 1

    def sink_a_training(self) -> None:
        """A training through the sink, checkpoints and a user's callback on the way, evaluated: the same bits."""
        folder = self.folder / "sunk"
        shutil.rmtree(folder, ignore_errors=True)
        assert trained(self, 3, folder, sink=True) == self.whole

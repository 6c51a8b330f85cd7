"""Q33: keep the parameters of the lowest loss, with a callback of one's own or with the ready one."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace.train import BestCheckpoint, Callback, Model, load_checkpoint, save_checkpoint


class LowestLoss(Callback):
    def __init__(self, file):
        self.file, self.best = file, float("inf")

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        loss = float(params.net_outputs.asnumpy())
        if loss < self.best:
            self.best = loss
            save_checkpoint(params.train_network, self.file)


def test_both(tmp_path):
    ms.set_seed(1)
    x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(8, 2)
    data = ds.NumpySlicesDataset({"x": x, "y": x[:, :1]}, shuffle=False).batch(4)
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))
    own, ready = LowestLoss(str(tmp_path / "own.ckpt")), BestCheckpoint(str(tmp_path / "best.ckpt"))
    model.train(5, data, callbacks=[own, ready])
    assert ready.epoch == 5
    saved = load_checkpoint(str(tmp_path / "best.ckpt"))
    assert saved["weight"].asnumpy().tolist() == net.weight.asnumpy().tolist()
    assert "weight" in load_checkpoint(str(tmp_path / "own.ckpt"))

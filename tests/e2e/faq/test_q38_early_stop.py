"""Q38: how do I stop a training early? In a callback of one's own, or with the ready one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace.train import Callback, EarlyStopping, Model


def trained(*callbacks: Any, epochs: int = 6, rate: float = 0.01) -> int:
    """How many steps were made, of four in each epoch."""
    steps = []

    class Count(Callback):
        def step_end(self, run_context: Any) -> None:
            steps.append(run_context.original_args().cur_step_num)

    ms.set_seed(1)
    x = np.linspace(0, 1, 16, dtype=np.float32).reshape(8, 2)
    data = ds.NumpySlicesDataset({"x": x, "y": x.sum(1, keepdims=True)}, shuffle=False).batch(2)
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), rate))
    model.train(epochs, data, callbacks=[Count(), *callbacks], dataset_sink_mode=False)
    return len(steps)


@pytest.mark.parametrize("last", [1, 5])
def test_a_callback_asks_for_the_end(last: int) -> None:
    class Stop(Callback):
        def step_end(self, run_context: Any) -> None:
            if run_context.original_args().cur_step_num >= last:
                run_context.request_stop()

    assert trained(Stop()) == last


def test_the_ready_one_stops_when_nothing_gets_better() -> None:
    assert trained(EarlyStopping("loss", patience=2), rate=0.0) < 6 * 4
    assert trained(EarlyStopping("loss", patience=2), rate=0.05) == 6 * 4

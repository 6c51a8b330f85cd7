"""A small training whose files are kept: the same network, optimizer and data for the writer and the tests."""

from __future__ import annotations

import numpy as np

import millrace
from millrace import Tensor, nn, train

from .pipelines import training_data

__all__ = ["KEY", "STREAM", "Regression", "model", "step_cell", "trained"]

KEY = b"0123456789abcdef"
STREAM = "AES-GCM-STREAM"


class Regression(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(3, 2)
        self.dense.weight.set_data(Tensor(np.arange(6, dtype=np.float32).reshape(2, 3) / 8))
        self.dense.bias.set_data(Tensor(np.zeros(2, np.float32)))

    def construct(self, x):
        return self.dense(x)


def model() -> train.Model:
    net = Regression()
    return train.Model(net, nn.MSELoss(), nn.Adam(net.trainable_params(), 0.01))


def step_cell() -> nn.Cell:
    net = Regression()
    optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)


def trained(epochs: int = 2, **arguments: object) -> dict[str, np.ndarray]:
    """Train for this many epochs in all, and return the parameters."""
    millrace.set_seed(11)
    learner = model()
    learner.train(epochs, training_data(), dataset_sink_mode=False, **arguments)
    return {param.name: param.asnumpy() for param in learner.train_network.get_parameters()}

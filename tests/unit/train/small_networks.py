"""Small nets and data for tests of trainings."""

import numpy as np

import millrace.dataset as ds
from millrace import nn, train


def data(rows=6, batch=2, shuffle=False):
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3) / 10
    return ds.NumpySlicesDataset({"x": x, "y": np.ones((rows, 1), np.float32)}, shuffle=shuffle).batch(batch)


def dense(rate=0.01, **options):
    net = nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
    return train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), rate, 0.9), **options)


def weights(model):
    return {each.name: each.asnumpy().copy() for each in model.train_network.get_parameters()}


class Losses(train.Callback):
    """Keeps the loss of each step."""

    def __init__(self):
        self.all = []

    def on_train_step_end(self, run_context):
        outputs = run_context.original_args().net_outputs
        self.all.append((outputs[0] if isinstance(outputs, tuple) else outputs).asnumpy().item())

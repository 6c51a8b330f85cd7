"""A training whose best epoch is its first: `python -m tests.unit.train.checkpoint.stopped_training FOLDER [STEP]`.

With STEP it is killed after that step. Otherwise it goes on from what is in the folder, and prints what it ended with.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace.train import Callback, CheckpointConfig, EarlyStopping, Model, ModelCheckpoint


class Killer(Callback):
    def __init__(self, step):
        self.step = step

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def run(folder, kill=None, restore=True):
    """The callback, and the weights in the end; a rate this high makes each epoch worse than the one before."""
    ms.set_seed(1)
    rows = np.arange(12, dtype=np.float32).reshape(6, 2) / 4
    data, valid = (
        ds.NumpySlicesDataset({"x": rows, "y": rows[:, :1]}, shuffle=shuffle).batch(2)
        for shuffle in (True, False)
    )
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.5, 0.9), metrics={"mse"})
    stopping = EarlyStopping("mse", patience=3, restore_best_weights=restore)
    config = CheckpointConfig(save_checkpoint_steps=2, async_save=True)
    callbacks = [stopping, ModelCheckpoint("run", str(folder), config), Killer(kill)]
    model.fit(9, data, valid, callbacks=callbacks, resume=str(folder))
    return stopping, [each.asnumpy().tolist() for each in model.train_network.get_parameters()]


if __name__ == "__main__":
    stopping, ended = run(sys.argv[1], *map(int, sys.argv[2:]))
    print(json.dumps({"stopped": stopping.stopped_epoch, "best": stopping.best, "ended": ended}))

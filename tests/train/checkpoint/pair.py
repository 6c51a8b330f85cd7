"""A training that resumes from a folder: `python -m tests.train.checkpoint.pair FOLDER SEED [STEP]`.

It prints "started", waits for a line, trains, and prints the digest of its parameters or the error that refused it. With
STEP it is killed after that step. The seed determines weights and data order, so that each seed has a different digest.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys

import numpy as np

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace.core.errors import CheckpointError
from millrace.train import Callback, CheckpointConfig, Model, ModelCheckpoint


class Killer(Callback):
    def __init__(self, step):
        self.step = step

    def on_train_step_end(self, run_context):
        if run_context.original_args().cur_step_num == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def digest_of(network):
    digest = hashlib.sha256()
    for _, param in network.parameters_and_names():
        digest.update(param.name.encode() + param.asnumpy().tobytes())
    return digest.hexdigest()


def run(folder, seed, kill=None, *, resume=True):
    ms.set_seed(seed)
    rows = np.arange(24, dtype=np.float32).reshape(12, 2) / 24
    data = ds.NumpySlicesDataset({"x": rows, "y": rows[:, :1]}, shuffle=True).batch(2)
    net = nn.Dense(2, 1)
    model = Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    callbacks = [ModelCheckpoint("run", str(folder), CheckpointConfig(2)), Killer(kill)]
    model.train(3, data, callbacks=callbacks, resume=str(folder) if resume else None)
    return digest_of(model.train_network)


if __name__ == "__main__":
    print("started", flush=True)
    sys.stdin.readline()
    try:
        print(run(sys.argv[1], *map(int, sys.argv[2:])), flush=True)
    except CheckpointError as error:
        print(f"refused: {error}", flush=True)

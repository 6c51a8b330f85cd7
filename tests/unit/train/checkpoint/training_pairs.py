"""Pairs of trainings in one folder: `python -m tests.unit.train.checkpoint.training_pairs FOLDER COUNT`.

Each training is a fork of this process, which has imported everything and computed nothing. A pair has the seeds 1
and 2, which determine weights and data order. Both are started at once, the first one is perhaps killed after a step;
then each is started again. A line of JSON for a pair lists the seed and the outcome of the four: the digest of the
parameters, the error that refused it, or "" where it was killed. The line before them holds the digests of trainings in
separate folders.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import torch

import millrace as ms
import millrace.dataset as ds
from millrace import nn
from millrace._src.core.errors import CheckpointError
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


def forked(folder, seed, kill=None):
    """Start a training in a child; the descriptor that its outcome comes from, and its process."""
    outcome, tell = os.pipe()
    pid = os.fork()
    if not pid:
        text = ""
        try:
            torch.set_num_threads(1)
            text = run(folder, seed, kill)
        except CheckpointError as error:
            text = f"refused: {error}"
        except BaseException as error:
            text = f"failed: {error!r}"
        finally:
            os.write(tell, text.encode())
            os._exit(0)
    os.close(tell)
    return outcome, pid


def ended(outcome, pid):
    with os.fdopen(outcome) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    return text


def main():
    top, count = Path(sys.argv[1]), int(sys.argv[2])
    alone = {seed: ended(*forked(top / f"alone-{seed}", seed)) for seed in (1, 2)}
    print(json.dumps(alone), flush=True)
    for number in range(count):
        folder, kill = top / f"pair-{number}", (None, 1, 5, 8)[number % 4]
        folder.mkdir()
        order = (1, 2) if number % 2 else (2, 1)
        both = {seed: forked(folder, seed, kill if seed == 1 else None) for seed in order}
        results = [(seed, ended(*both[seed])) for seed in order]
        results += [(seed, ended(*forked(folder, seed))) for seed in order]
        print(json.dumps(results), flush=True)


if __name__ == "__main__":
    main()

"""A training that dies at a chosen moment, and goes on: `python -m tests.unit.train.checkpoint.killed_training
CASES.json`.

Each run is a fork of this process, which has imported everything and computed nothing. CASES.json is a list of
{"folder", "kill", "mode", "beside"}; the answer is a line of JSON for each: how it died, at which step it went on,
and the digest of what it ended with.

A moment is ["step", n]: after the computing of step n; ["byte", n, b]: when the n-th save has written b bytes, by a
limit that the kernel enforces; ["call", name, n]: when the n-th save is about to call os.<name>; or None.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
from pathlib import Path

import numpy as np
import torch

import millrace as ms
import millrace.dataset as ds
from millrace import Tensor, nn, ops
from millrace._src.train.checkpoint import ckpt_format as ckpt
from millrace.train import (
    Callback,
    CheckpointConfig,
    DynamicLossScaleManager,
    Model,
    ModelCheckpoint,
    load_training,
    save_training,
    wait_for_checkpoints,
)

EPOCHS, EVERY = 3, 3
ROWS, BATCH = 40, 5


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Dense(6, 8)
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(p=0.3)
        self.out = nn.Dense(8, 1)

    def construct(self, x, y):
        drawn = ops.standard_normal((1,), seed=3)  # a generator of its own
        made = self.out(self.drop(ops.relu(self.norm(self.hidden(x)))))
        return ops.mean((made - y) ** 2) + 0 * drawn.sum()


def pipeline():
    rows = np.arange(ROWS * 6, dtype=np.float32).reshape(ROWS, 6) / 100
    data = ds.NumpySlicesDataset({"x": rows, "y": rows[:, :1]}, shuffle=True)
    return data.map(lambda x: x + np.float32(0.5), "x", num_parallel_workers=1).batch(BATCH)


def step_cell():
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), 1e-2)
    scale = nn.DynamicLossScaleUpdateCell(2.0**4, 2, 5)
    return nn.TrainOneStepWithLossScaleCell(net, optimizer, scale).set_train()


def run(folder: Path, kill, mode: str, beside: bool) -> tuple[int, str]:
    torch.set_num_threads(1)
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(5)
    cell, file = step_cell(), folder / "run.ckpt"
    step, place = 0, None
    if file.exists():
        found = load_training(str(file), cell)
        step, place = found.step, found.data
    began, saves = step, step // EVERY
    losses = hashlib.sha256()
    with pipeline().epochs(EPOCHS, state=place) as epochs:
        for rows in epochs:
            for x, y in rows:
                noise = Tensor(
                    np.random.rand(*x.shape).astype(np.float32)
                )  # what a user's code draws counts too
                loss = cell(x + noise, y)[0]
                losses.update(loss.asnumpy().tobytes())
                step += 1
                if kill == ["step", step]:
                    os.kill(os.getpid(), signal.SIGKILL)
                if step % EVERY == 0:
                    saves += 1
                    arm(kill, saves)
                    save_training(str(file), cell, data=epochs, step=step, async_save=beside)
    wait_for_checkpoints()
    digest = hashlib.sha256()
    for _, param in cell.parameters_and_names():
        digest.update(param.name.encode() + param.asnumpy().tobytes())
    return began, digest.hexdigest()


class Killer(Callback):
    """Dies after the computing of a step, before anything is saved of it."""

    def __init__(self, kill):
        self.kill = kill

    def on_train_step_end(self, run_context):
        step = run_context.original_args().cur_step_num
        if self.kill == ["step", step]:
            os.kill(os.getpid(), signal.SIGKILL)
        if step % EVERY == 0:
            arm(self.kill, step // EVERY)


class Began(Callback):
    def on_train_begin(self, run_context):
        self.step = run_context.original_args().cur_step_num


class Noisy(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x, y):
        return self.net(x + ops.standard_normal(x.shape), y)


def run_model(folder: Path, kill, beside: bool) -> tuple[int, str]:
    """The same with Model.train, whose callback saves and whose argument resumes."""
    torch.set_num_threads(1)
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(5)
    net = Noisy(Net())
    optimizer = nn.Momentum(net.trainable_params(), nn.cosine_decay_lr(0.0, 0.05, 24, 8, 3), 0.9)
    model = Model(
        net, None, optimizer, loss_scale_manager=DynamicLossScaleManager(2**4, 2, 5), amp_level="O0"
    )
    began = Began()
    config = CheckpointConfig(save_checkpoint_steps=EVERY, keep_checkpoint_max=2, async_save=beside)
    callbacks = [began, Killer(kill), ModelCheckpoint("run", str(folder), config)]
    model.train(EPOCHS, pipeline(), callbacks=callbacks, resume=str(folder))
    digest = hashlib.sha256()
    for _, param in model.train_network.parameters_and_names():
        digest.update(param.name.encode() + param.asnumpy().tobytes())
    return began.step, digest.hexdigest()


def arm(kill, saves: int) -> None:
    """Set the trap for this save."""
    if kill is None or kill[0] == "step" or kill[-1 if kill[0] == "call" else 1] != saves:
        return
    if kill[0] == "byte":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # Python ignores it: here the kernel ends the process
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        real = ckpt.write

        def write(
            draft, *args, **options
        ):  # a limit of bytes is one of every file: it is set when this one begins
            resource.setrlimit(resource.RLIMIT_FSIZE, (kill[2], kill[2]))
            real(draft, *args, **options)

        ckpt.write = write
    else:
        setattr(os, kill[1], lambda *args, **options: os.kill(os.getpid(), signal.SIGKILL))


def forked(folder: Path, kill, mode: str, beside: bool) -> dict:
    """Run in a child; how it ended."""
    told, tell = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(told)
            began, digest = (
                run_model(folder, kill, beside) if mode == "model" else run(folder, kill, mode, beside)
            )
            os.write(tell, json.dumps({"began": began, "digest": digest}).encode())
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(tell)
    with os.fdopen(told) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"status": status, **(json.loads(said) if said else {})}


def main() -> None:
    for case in json.loads(Path(sys.argv[1]).read_text()):
        folder = Path(case["folder"])
        folder.mkdir(parents=True)
        options = (case["mode"], case["beside"])
        first = forked(folder, case["kill"], *options)
        left = sorted(os.listdir(folder))
        second = forked(folder, None, *options) if case["kill"] else first
        print(json.dumps({"first": first, "left": left, "second": second}), flush=True)


if __name__ == "__main__":
    main()

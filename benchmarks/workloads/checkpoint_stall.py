"""For how long does a training stand still when a checkpoint of 1 GB is saved beside it?"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import ready
from benchmarks.training import MODES
from benchmarks.workloads import Bar, Metric, Variants

TITLE = "Training: a checkpoint beside it"
QUESTION = "128 million weights with momentum, `CheckpointConfig(async_save=True)`, one thread computes"
STALL = Metric("stall_percent", "stands still, of the writing time", "%")
METRICS = (
    STALL,
    Metric("beside_percent", "slower while it is written, of the writing time", "%"),
    Metric("write_s", "writing", "s"),
    Metric("step_s", "a step", "s"),
)
NOTE = (
    "Two Dense layers of 8,192 x 8,192, batch 8, `Model.train` with `ModelCheckpoint`: weights and moments are 1 GB. "
    "The training stands still in the callback that saves, and where the next step waits before it writes to what is "
    "still being copied; the median of the saves counts. The writing time is that of the same save when it is "
    "waited for, checksum and `fsync` included. The second number is how much longer all steps take "
    "until the file is written: the writer takes memory and cores that the steps had."
)
BARS = (Bar("stands still for less than 5 % of the writing time", STALL.key, below=5),)
# several questions, not several ways to do one
PAIRED = True
SAVES, QUIET = 5, 3


def _measured(mode: str, quick: bool) -> dict[str, Any]:
    ready()
    os.environ |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    import millrace as ms
    from millrace import nn, train

    ms.set_context(mode=getattr(ms, MODES[mode]), runtime_num_threads=1)
    width = 512 if quick else 8192
    net = nn.SequentialCell(nn.Dense(width, width, has_bias=False), nn.Dense(width, width, has_bias=False))
    model = train.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), 1e-4, 0.9))
    rows = ms.Tensor(np.random.default_rng(0).standard_normal((8, width), np.float32))
    batch = (rows, rows)

    class Clock(train.Callback):
        """When steps end, and for how long the callbacks between the two halves of it took."""

        def __init__(self) -> None:
            self.ends: list[float] = []
            self.saves: list[float] = []

        def on_train_step_end(self, run_context: Any) -> None:
            self.ends.append(time.perf_counter())

        def after(self, run_context: Any) -> None:
            self.saves.append(time.perf_counter() - self.ends[-1])

    def steps(count: int, *callbacks: Any) -> Clock:
        clock = Clock()
        last = train.LambdaCallback(on_train_step_end=clock.after)
        model.train(1, [batch] * (count + 1), callbacks=[clock, *callbacks, last])
        return clock

    with tempfile.TemporaryDirectory() as folder, _waits() as waited:
        quiet = statistics.median(_between(steps(3 if quick else 8).ends))
        write = min(_saved(train, model, folder) for _ in range(1 if quick else 2))
        every = 2 + QUIET + int(2 * write / quiet)
        config = train.CheckpointConfig(save_checkpoint_steps=every, keep_checkpoint_max=1, async_save=True)
        clock = steps((2 if quick else SAVES) * every, train.ModelCheckpoint("net", folder, config))
    took = _between(clock.ends)
    # place k lies between the ends of steps k and k + 1, counted from 1
    saves = range(every, len(took) + 1, every)
    still = [
        clock.saves[at - 1] + sum(long for when, long in waited if clock.ends[at - 1] < when < clock.ends[at])
        for at in saves
    ]
    beside = []
    for at in saves[:-1]:
        after = took[at - 1 : at - 1 + every]
        beside.append(sum(after[:-QUIET]) - len(after[:-QUIET]) * statistics.median(after[-QUIET:]))
    return {
        STALL.key: 100 * statistics.median(still) / write,
        "beside_percent": 100 * max(0.0, statistics.median(beside)) / write,
        "write_s": write,
        "step_s": quiet,
        "still_s": still,
        "threads": 1,
    }


def _between(moments: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(moments)]


@contextlib.contextmanager
def _waits() -> Iterator[list[tuple[float, float]]]:
    """When steps waited for a copy, and for how long."""
    from millrace._src.train.checkpoint.staging import StagingCopy

    found: list[tuple[float, float]] = []
    plain = StagingCopy.wait

    def wait(copying: StagingCopy) -> None:
        began = time.perf_counter()
        plain(copying)
        found.append((time.perf_counter(), time.perf_counter() - began))

    StagingCopy.wait = wait  # type: ignore[method-assign]
    try:
        yield found
    finally:
        StagingCopy.wait = plain  # type: ignore[method-assign]


def _saved(train: Any, model: Any, folder: str) -> float:
    began = time.perf_counter()
    train.save_checkpoint(model.train_network, os.path.join(folder, "once.ckpt"), crc_check=True)
    return time.perf_counter() - began


VARIANTS: Variants = {"millrace": {mode: functools.partial(_measured, mode) for mode in MODES}}

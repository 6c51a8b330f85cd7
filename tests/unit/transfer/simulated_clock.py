"""A feed whose times are planted: real pipelines, threads and rings, with a clock that passes only where it is told to.

Each thread has its own time, and they agree where threads meet (``millrace._src.transfer.clock``), so that a
run comes out the same to the last digit on any machine under any load.
"""

from __future__ import annotations

import random

import numpy as np

import millrace.dataset as ds
from millrace._src.core.settings import override
from millrace._src.transfer import DevicePrefetcher
from millrace._src.transfer.clock import SimulatedClock
from millrace._src.transfer.transfer import HostTransfer

SLOTS = 4
ROWS = 2


class SlowMover(HostTransfer):
    """A way to a device that takes as long as it is told."""

    def __init__(self, clock, seconds):
        super().__init__()
        self.clock, self.seconds = clock, iter(seconds)

    def send(self, values, size, state):
        self.clock.spend(next(self.seconds))
        return super().send(values, size, state)


class Run:
    """A pipeline that spends `making` on its batches, a way that spends `moving`, steps that spend `stepping`."""

    def __init__(self, making, moving, stepping, fails_at=None):
        self.clock = clock = SimulatedClock()
        self.stepping, self.batches = stepping, len(making)

        def slow(number):
            batch, row = divmod(int(number), ROWS)
            if batch == fails_at:
                raise ValueError(f"row {int(number)} is bad")
            if not row:
                clock.spend(making[batch])
            return number

        numbers = ds.NumpySlicesDataset({"x": np.arange(ROWS * len(making), dtype=np.float32)}, shuffle=False)
        data = numbers.map(slow, "x").batch(ROWS)
        # in the thread that asks, a batch at a time: what a batch costs is spent where the feed measures it
        with override(executor="inline", chunk_rows=1):
            source = data.create_tuple_iterator(num_epochs=1)
        mover = None if moving is None else SlowMover(clock, moving)
        self.feed = DevicePrefetcher(source, epochs=1, slots=SLOTS, clock=clock, mover=mover)

    def steps(self, count=None):
        """Take so many batches (all there are), and compute on each."""
        for number in range(self.batches if count is None else count):
            batch = self.feed.take(timeout=60)
            assert batch is not None
            assert batch[0].asnumpy().tolist() == [ROWS * number, ROWS * number + 1]
            self.clock.spend(self.stepping[number])

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.feed.close()


def steady(draw, middle, count):
    return [middle * draw.uniform(0.8, 1.2) for _ in range(count)]


def data_slow(draw, unit, count):
    return (
        steady(draw, unit * draw.uniform(1.3, 20), count),
        steady(draw, unit / 50, count),
        steady(draw, unit, count),
    )


def now_and_then(draw, unit, count):
    making = steady(draw, unit / 10, count)
    for place in draw.sample(range(2 * SLOTS, count), draw.randint(3, count // 15)):
        making[place] = unit * draw.uniform(20, 60)
    return making, steady(draw, unit / 50, count), steady(draw, unit, count)


def transfer_slow(draw, unit, count):
    moving = steady(draw, unit * draw.uniform(1.3, 20), count)
    return steady(draw, unit / 5, count), moving, steady(draw, unit, count)


def step_slow(draw, unit, count):
    making = steady(draw, unit * draw.uniform(0.02, 0.7), count)
    return making, steady(draw, unit / 50, count), steady(draw, unit, count)


PLANTED = {
    "data slow": data_slow,
    "data slow now and then": now_and_then,
    "transfer slow": transfer_slow,
    "step slow": step_slow,
}


def drawn(seed):
    """The random numbers of a seed, and how long a step takes by them: from 0.1 ms to 10 s."""
    draw = random.Random(seed)
    return draw, 10 ** draw.uniform(-4, 1)

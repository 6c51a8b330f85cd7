"""Index stages: emit blocks of source row indices in sampler order, at the head of a reading segment.

They need no thread.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import PlanError
from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, Indices, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, hash_integers
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes.order_ops import PermuteStep, Read

from .base import END_OF_DATA, END_OF_EPOCH, Stage, StageOutput, State

__all__ = ["BatchIndexStage", "IndexStage", "EpochOrders", "epoch_order"]


class EpochOrders:
    """The order of each epoch of one run, as a function of position.

    A custom sampler of the user is copied once and sampled once per epoch, in sequence; going back restarts it.
    """

    def __init__(self, read: Read, seed: int) -> None:
        self.read, self.seed = read, seed
        self._sampler: Any = None
        self._epochs_sampled = 0  # number of epochs sampled so far
        self._epoch_open = False  # whether the last of them has not ended

    def at(self, epoch: int) -> IndexOrder:
        read, seed = self.read, self.seed
        size = read.source.size() or 0
        order: IndexOrder = RangeOrder(size)
        if read.sampler is not None:
            order = self._sampler_order(size, epoch)
        for step in read.order_steps:
            if isinstance(step, PermuteStep):
                key = hash_integers(seed, epoch, step.op) if step.key is None else step.key
                order = ComposedOrder(RandomPermutation(order.size, key), order)
            else:
                rows = max(0, order.size - step.skip)
                rows = rows if step.take is None else min(rows, step.take)
                order = ComposedOrder(RangeOrder(rows - rows % step.multiple, start=step.skip), order)
        return order

    def _sampler_order(self, size: int, epoch: int) -> IndexOrder:
        read = self.read
        if self._sampler is None or self._epochs_sampled > epoch:
            self._sampler = read.sampler.copy_for_run(getattr(read.source, "source", None))
            self._epochs_sampled, self._epoch_open = 0, False
        if self._sampler is read.sampler:  # stateless: epochs can be sampled in any order
            self._epochs_sampled = epoch
        while True:
            self.end_epoch()
            order: IndexOrder = self._sampler.order(
                size, hash_integers(self.seed, self._epochs_sampled, read.op_id), labels=read.labels
            )
            self._epochs_sampled, self._epoch_open = self._epochs_sampled + 1, True
            if self._epochs_sampled > epoch:
                return order

    def end_epoch(self) -> None:
        """Notify the sampler that its last epoch has ended."""
        if self._epoch_open:
            self._epoch_open = False
            self._sampler.reset_all()


def epoch_order(read: Read, seed: int, epoch: int) -> IndexOrder:
    """The order of one epoch."""
    return EpochOrders(read, seed).at(epoch)


class IndexStage(Stage):
    """Emits blocks of row indices in the order of each epoch. The state is the epoch and the position in it.

    Where the downstream segment builds batches itself (``batch`` rows each), the state has the form that the barrier
    stage would otherwise write: a run may be resumed under settings that fuse the plan differently.
    """

    def __init__(
        self,
        read: Read,
        seed: int,
        epochs: int | None,
        stats: StageStats,
        rows: int,
        batch: int | None = None,
    ) -> None:
        self.read, self.seed, self.epochs, self.stats = read, seed, epochs, stats
        # rows per block; adapted by the downstream segment
        self.rows, self.batch = rows, batch
        self.epoch, self.position = 0, 0
        self._orders = EpochOrders(read, seed)
        self._order: IndexOrder | None = None

    def pull(self) -> StageOutput:
        self.raise_if_interrupted()
        if self.epochs is not None and self.epoch >= self.epochs:
            return END_OF_DATA
        if self._order is None:
            self._order = self._orders.at(self.epoch)
        start = self.position
        if start >= self._order.size:
            self.skip_epoch()
            return END_OF_EPOCH
        rows = self._order.at(start, start + self.rows)
        self.position = start + len(rows)
        ids = rows.astype(np.uint64)
        return Chunk({}, ids, rows, self.epoch, start)

    def skip(self, rows: int) -> int:
        if self.epochs is not None and self.epoch >= self.epochs:
            return 0
        if self._order is None:
            self._order = self._orders.at(self.epoch)
        skipped = min(rows, self._order.size - self.position)
        self.position += skipped
        return skipped

    def state(self) -> State:
        position = [self.epoch, self.position]
        if self.batch is None:
            return position
        batches = -(-self.position // self.batch)
        return {"rows": {"up": position, "skip": 0}, "batch": batches, "epoch": self.epoch}

    def restore(self, state: State) -> None:
        self._order = None
        if self.batch is None:
            self.epoch, self.position = state
            return
        rows = state["rows"]
        self.epoch, self.position = rows["up"][0], rows["up"][1] + rows["skip"]
        if rows.get("ended"):  # all rows of the epoch were delivered, but not its end
            self.epoch -= 1
            self.position = self._orders.at(self.epoch).size

    def skip_epoch(self) -> None:
        self.epoch, self.position, self._order = self.epoch + 1, 0, None
        self._orders.end_epoch()


class BatchIndexStage(Stage):
    """The user's batch_sampler: one list of row numbers per chunk, iterated once per epoch."""

    def __init__(self, read: Read, epochs: int | None, stats: StageStats) -> None:
        self.read, self.epochs, self.stats = read, epochs, stats
        self.epoch, self.position = 0, 0
        self._batches: list[Any] | None = None
        # a copy of the user's object for this run, and the number of epochs sampled from it
        self._lists: Any = None
        self._epochs_sampled = 0

    def pull(self) -> StageOutput:
        self.raise_if_interrupted()
        if self.epochs is not None and self.epoch >= self.epochs:
            return END_OF_DATA
        if self._batches is None:
            self._batches = self._sample_batches()
        if self.position >= len(self._batches):
            self.skip_epoch()
            return END_OF_EPOCH
        rows = self._check(self._batches[self.position])
        self.position += 1
        return Chunk({}, rows.astype(np.uint64), rows, self.epoch, self.position - 1)

    def _sample_batches(self) -> list[Any]:
        if self._lists is None or self._epochs_sampled > self.epoch:
            self._lists, self._epochs_sampled = self.read.batch_sampler.for_run(), 0
        while True:
            batches = list(iter(self._lists))  # list(x) would call its __len__, which may be slow
            self._epochs_sampled += 1
            if self._epochs_sampled > self.epoch:
                return batches
            self._lists.reset_all()

    def _check(self, batch: Any) -> Indices:
        rows = np.asarray(list(batch) if hasattr(batch, "__iter__") else batch)
        size = self.read.source.size() or 0
        if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
            raise PlanError(
                f"batch_sampler must return a list of row numbers for each batch, but batch {self.position} is "
                f"{batch!r}"
            )
        bad = rows[(rows < 0) | (rows >= size)]
        if len(bad):
            raise PlanError(f"Sample ID ({int(bad[0])}) is out of bound, expected range [0, {size - 1}]")
        return rows.astype(np.int64)

    def state(self) -> State:
        return [self.epoch, self.position]

    def restore(self, state: State) -> None:
        self.epoch, self.position = state
        self._batches = None

    def skip(self, rows: int) -> int:
        if self._batches is None:
            self._batches = self._sample_batches()
        skipped = min(rows, len(self._batches) - self.position)
        self.position += skipped
        return skipped

    def skip_epoch(self) -> None:
        if self._batches is not None:
            self._lists.reset_all()
        self.epoch, self.position, self._batches = self.epoch + 1, 0, None

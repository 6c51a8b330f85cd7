"""The head of a segment that reads: blocks of row numbers, straight from the order. Costs no thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace.core.chunk import Chunk
from millrace.core.errors import PlanError
from millrace.core.order import Composed, Indices, Order, RangeOrder
from millrace.core.rng import Permutation, mix
from millrace.core.stats import StageStats
from millrace.data.plan.ops import Permute, Read

from .base import DONE, END, Pulled, Stage, State

__all__ = ["BatchIndexStage", "IndexStage", "order_of"]


def order_of(read: Read, seed: int, epoch: int) -> Order:
    """The whole order of one epoch, as a function of position."""
    size = read.source.size() or 0
    order: Order = RangeOrder(size)
    if read.sampler is not None:
        order = read.sampler.order(size, mix(seed, epoch, read.op), labels=read.labels)
    for step in read.steps:
        if isinstance(step, Permute):
            key = mix(seed, epoch, step.op) if step.key is None else step.key
            order = Composed(Permutation(order.size, key), order)
        else:
            rows = max(0, order.size - step.skip)
            rows = rows if step.take is None else min(rows, step.take)
            order = Composed(RangeOrder(rows - rows % step.multiple, start=step.skip), order)
    return order


class IndexStage(Stage):
    """Position-addressable: its state is the epoch and the position in it.

    Where the segment above makes batches itself (``batch`` rows each), the state is written as the barrier that
    would otherwise cut them writes it: a run may be resumed under settings that fuse the plan differently.
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
        # rows per block; the segment above adapts it
        self.rows, self.batch = rows, batch
        self.epoch, self.position = 0, 0
        self._order: Order | None = None

    def pull(self) -> Pulled:
        if self.epochs is not None and self.epoch >= self.epochs:
            return DONE
        if self._order is None:
            self._order = order_of(self.read, self.seed, self.epoch)
        start = self.position
        if start >= self._order.size:
            self.skip_rest()
            return END
        rows = self._order.at(start, start + self.rows)
        self.position = start + len(rows)
        ids = rows.astype(np.uint64)
        return Chunk({}, ids, rows, self.epoch, start)

    def skip(self, rows: int) -> int:
        if self.epochs is not None and self.epoch >= self.epochs:
            return 0
        if self._order is None:
            self._order = order_of(self.read, self.seed, self.epoch)
        skipped = min(rows, self._order.size - self.position)
        self.position += skipped
        return skipped

    def state(self) -> State:
        place = [self.epoch, self.position]
        if self.batch is None:
            return place
        batches = -(-self.position // self.batch)
        return {"rows": {"up": place, "skip": 0}, "batch": batches, "epoch": self.epoch}

    def restore(self, state: State) -> None:
        self._order = None
        if self.batch is None:
            self.epoch, self.position = state
            return
        rows = state["rows"]
        self.epoch, self.position = rows["up"][0], rows["up"][1] + rows["skip"]
        if rows.get("ended"):  # all rows of the epoch are out, its end is not
            self.epoch -= 1
            self.position = order_of(self.read, self.seed, self.epoch).size

    def skip_rest(self) -> None:
        self.epoch, self.position, self._order = self.epoch + 1, 0, None


class BatchIndexStage(Stage):
    """The user's batch_sampler: one list of row numbers per chunk. It is walked once per epoch."""

    def __init__(self, read: Read, epochs: int | None, stats: StageStats) -> None:
        self.read, self.epochs, self.stats = read, epochs, stats
        self.epoch, self.position = 0, 0
        self._batches: list[Any] | None = None

    def pull(self) -> Pulled:
        if self.epochs is not None and self.epoch >= self.epochs:
            return DONE
        if self._batches is None:
            self._batches = list(self.read.batch_sampler)
        if self.position >= len(self._batches):
            self.skip_rest()
            return END
        rows = self._check(self._batches[self.position])
        self.position += 1
        return Chunk({}, rows.astype(np.uint64), rows, self.epoch, self.position - 1)

    def _check(self, batch: Any) -> Indices:
        rows = np.asarray(list(batch) if hasattr(batch, "__iter__") else batch)
        size = self.read.source.size() or 0
        if rows.ndim != 1 or not len(rows) or rows.dtype.kind not in "iu":
            raise PlanError(
                f"batch_sampler must give a list of row numbers for each batch, but batch {self.position} is {batch!r}"
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

    def skip_rest(self) -> None:
        self.epoch, self.position, self._batches = self.epoch + 1, 0, None

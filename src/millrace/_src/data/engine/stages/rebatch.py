"""Regrouping rows: a pile of pending chunks that can be cut anywhere, and the barrier that cuts batches."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import DataError
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.batch_info import BatchInfo
from millrace._src.data.engine.segment.batch_step import epoch_of
from millrace._src.data.engine.segment.failures import data_error
from millrace._src.data.plan.explain import describe
from millrace._src.data.plan.nodes import physical

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .stage_registry import StageContext, register_stage

__all__ = ["RebatchStage", "RowBuffer", "advance_state"]


class RowBuffer:
    """Rows pulled from a stage and not yet used, with the state that leads back to the first of them.

    The state is upstream's state before the chunk that holds the first pending row, and how many rows of what
    follows are used up. It does not depend on where chunks happen to be cut.
    """

    def __init__(self, up: Stage) -> None:
        self.up = up
        self.num_rows = 0
        self._chunks: deque[tuple[Chunk, State]] = deque()
        self._used = 0  # rows of the first pending chunk that are gone
        self._skip = 0  # rows still to drop after a restore
        self._signal: Signal | None = None

    def fill(self, n: int) -> Signal | None:
        """Pull until n rows are there; the signal that ended it when none is left."""
        while self.num_rows < n and self._signal is None:
            before = self.up.state()
            got = self.up.pull()
            if isinstance(got, Signal):
                self._signal, self._skip = got, 0
            elif self._skip >= len(got):
                self._skip -= len(got)
            else:
                if not self._chunks:
                    self._used = self._skip
                self._chunks.append((got, before))
                self.num_rows += len(got) - self._skip
                self._skip = 0
        return self._signal if self.num_rows == 0 else None

    def peek(self) -> Chunk:
        """The pending rows of the first chunk."""
        chunk = self._chunks[0][0]
        return chunk.slice(self._used, len(chunk))

    def values(self, name: str) -> npt.NDArray[Any]:
        """The pending values of a dense column."""
        parts = [chunk.columns[name] for chunk, _ in self._chunks]
        return np.concatenate(parts)[self._used :]

    def take(self, n: int) -> Chunk:
        """The next n rows (fewer when there are fewer) as one chunk."""
        parts: list[Chunk] = []
        while n and self._chunks:
            chunk, _ = self._chunks[0]
            start = self._used
            stop = min(len(chunk), start + n)
            parts.append(chunk if (start, stop) == (0, len(chunk)) else chunk.slice(start, stop))
            n -= stop - start
            self.num_rows -= stop - start
            self._used = stop
            if stop == len(chunk):
                self._chunks.popleft()
                self._used = 0
        return Chunk.concat(parts)

    def skip(self, n: int) -> int:
        """Leave out rows unread; before the first fill."""
        return 0 if self._chunks or self._skip else self.up.skip(n)

    def drop(self, n: int) -> None:
        """Leave out the next n rows, or all that the epoch still has: unmade where upstream can, else dropped."""
        self._skip += n - self.skip(n)

    def take_signal(self) -> None:
        """Accept the pending END: upstream now stands at its next epoch."""
        if self._signal is END_OF_EPOCH:
            self._signal = None

    def skip_rest(self) -> None:
        self._chunks.clear()
        self.num_rows, self._used, self._skip = 0, 0, 0
        if self._signal is None:
            self.up.skip_epoch()
        self.take_signal()

    def state(self) -> State:
        if self._chunks:
            return {"up": self._chunks[0][1], "skip": self._used}
        state: dict[str, Any] = {"up": self.up.state(), "skip": self._skip}
        if self._signal is END_OF_EPOCH:
            state["ended"] = True  # upstream already stands at its next epoch
        return state

    def restore(self, state: State) -> None:
        self.up.restore(state["up"])
        self._chunks.clear()
        self.num_rows, self._used, self._skip = 0, 0, state["skip"]
        self._signal = END_OF_EPOCH if state.get("ended") else None


def advance_state(state: State, rows: int) -> State:
    """The state of a ``Rows`` so many rows further on, in the chunk that it leads to."""
    return {"up": state["up"], "skip": state["skip"] + rows}


class RebatchStage(UnaryStage):
    """Each chunk that leaves is exactly one batch of rows; stacking is the next segment's work."""

    def __init__(
        self,
        up: Stage,
        stats: StageStats,
        size: int | Callable[..., Any],
        drop_remainder: bool,
        passes: int,
        name: str,
    ) -> None:
        super().__init__(up, stats)
        self.rows = RowBuffer(up)
        self.size, self.drop, self.passes, self.name = size, drop_remainder, passes, name
        self.batch, self.epoch = 0, 0

    def pull(self) -> StageOutput:
        while True:
            signal = self.rows.fill(1)
            if signal is END_OF_DATA:
                return END_OF_DATA
            if signal is END_OF_EPOCH:
                self.rows.take_signal()
                self.batch, self.epoch = 0, self.epoch + 1
                return END_OF_EPOCH
            wanted, full = self._next_batch_size()
            if self.drop and not full:
                self.rows.take(wanted)
                continue
            chunk = self._take_batch(wanted)
            self.batch += 1
            self.stats.rows += len(chunk)
            self.stats.chunks += 1
            return chunk

    def _next_batch_size(self) -> tuple[int, bool]:
        """How many rows the next batch takes, now pending, and whether it is full."""
        wanted = self._size()
        self.rows.fill(wanted)
        return min(wanted, self.rows.num_rows), self.rows.num_rows >= wanted

    def _take_batch(self, rows: int) -> Chunk:
        chunk = self.rows.take(rows)
        return Chunk(chunk.columns, chunk.ids, chunk.origin, chunk.epoch, self.batch)

    def _size(self) -> int:
        if isinstance(self.size, int):
            return self.size
        info = BatchInfo(self.batch, epoch_of(self.epoch, self.passes))
        try:
            wanted = int(self.size(info))
        except Exception as error:
            what = "batch operation: [batch_size function]"
            raise data_error(error, what, op=self.name, row=-1, columns=[]) from error
        if wanted <= 0:
            raise DataError(
                "Invalid batch_size function, 'batch_size' function should return an integer greater than 0, "
                f"but got: {wanted}",
                op=self.name,
            )
        return wanted

    def skip(self, rows: int) -> int:
        """Each chunk that leaves is one row for those that come after: a batch."""
        if not isinstance(self.size, int):
            return 0
        skipped = self.rows.skip(rows * self.size)
        batches = -(-skipped // self.size)
        self.rows.drop(batches * self.size - skipped)  # the rest of a batch that was begun
        self.batch += batches
        return batches

    def skip_epoch(self) -> None:
        self.rows.skip_rest()
        self.batch, self.epoch = 0, self.epoch + 1

    def state(self) -> State:
        return {"rows": self.rows.state(), "batch": self.batch, "epoch": self.epoch}

    def restore(self, state: State) -> None:
        self.rows.restore(state["rows"])
        self.batch, self.epoch = state["batch"], state["epoch"]


@register_stage(physical.Rebatch)
def _regroup(making: StageContext) -> Stage:
    node = making.node
    return RebatchStage(
        making.up, making.stats, node.batch_size, node.drop_remainder, node.passes, describe(node)
    )

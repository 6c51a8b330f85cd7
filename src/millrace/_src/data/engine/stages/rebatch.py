"""Row buffer and rebatch stage: regroups a stream of chunks into exact batches of rows."""

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

    The state is upstream's state before the chunk that holds the first pending row, and the number of rows after it
    that are already used. It does not depend on chunk boundaries.
    """

    def __init__(self, upstream: Stage) -> None:
        self.upstream = upstream
        self.num_rows = 0
        self._chunks: deque[tuple[Chunk, State]] = deque()
        self._used = 0  # rows of the first pending chunk that were taken
        self._skip = 0  # rows still to drop after a restore
        self._signal: Signal | None = None

    def fill(self, n: int) -> Signal | None:
        """Pull until n rows are available. Returns the signal that ended the pulling if no row is left."""
        while self.num_rows < n and self._signal is None:
            before = self.upstream.state()
            got = self.upstream.pull()
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
        """Skip rows without reading; only before the first fill."""
        return 0 if self._chunks or self._skip else self.upstream.skip(n)

    def drop(self, n: int) -> None:
        """Skip the next n rows, or the rest of the epoch: without producing them if upstream can, otherwise by dropping
        them.
        """
        self._skip += n - self.skip(n)

    def take_signal(self) -> None:
        """Consume the pending END_OF_EPOCH: upstream is now at its next epoch."""
        if self._signal is END_OF_EPOCH:
            self._signal = None

    def skip_rest(self) -> None:
        self._chunks.clear()
        self.num_rows, self._used, self._skip = 0, 0, 0
        if self._signal is None:
            self.upstream.skip_epoch()
        self.take_signal()

    def state(self) -> State:
        if self._chunks:
            return {"up": self._chunks[0][1], "skip": self._used}
        state: dict[str, Any] = {"up": self.upstream.state(), "skip": self._skip}
        if self._signal is END_OF_EPOCH:
            state["ended"] = True  # upstream is already at its next epoch
        return state

    def restore(self, state: State) -> None:
        self.upstream.restore(state["up"])
        self._chunks.clear()
        self.num_rows, self._used, self._skip = 0, 0, state["skip"]
        self._signal = END_OF_EPOCH if state.get("ended") else None


def advance_state(state: State, rows: int) -> State:
    """The state of a ``RowBuffer`` advanced by this many rows, in the chunk that it leads to."""
    return {"up": state["up"], "skip": state["skip"] + rows}


class RebatchStage(UnaryStage):
    """Emits chunks of exactly one batch of rows; the next segment collates them."""

    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        size: int | Callable[..., Any],
        drop_remainder: bool,
        passes: int,
        name: str,
    ) -> None:
        super().__init__(upstream, stats)
        self.rows = RowBuffer(upstream)
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
        """Number of rows of the next batch, which are pending now, and whether it is full."""
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
        """Skip batches; downstream counts each batch as one row."""
        if not isinstance(self.size, int):
            return 0
        skipped = self.rows.skip(rows * self.size)
        batches = -(-skipped // self.size)
        self.rows.drop(batches * self.size - skipped)  # the rest of a partial batch
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
def _regroup(context: StageContext) -> Stage:
    node = context.node
    return RebatchStage(
        context.upstream, context.stats, node.batch_size, node.drop_remainder, node.passes, describe(node)
    )

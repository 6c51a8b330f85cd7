"""Take, skip, shard and repeat stages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from millrace._src.core.log import get_logger
from millrace._src.core.random.rng import derive_row_ids
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.plan.nodes import order_ops as ops

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .stage_registry import StageContext, register_stage

__all__ = ["ShardStage", "RepeatStage", "SkipStage", "TakeStage"]

log = get_logger(__name__)


class TakeStage(UnaryStage):
    """The first ``count`` rows of each epoch; then upstream skips the rest."""

    def __init__(self, upstream: Stage, stats: StageStats, count: int) -> None:
        super().__init__(upstream, stats)
        self.count, self.num_taken = count, 0

    def pull(self) -> StageOutput:
        if self.num_taken >= self.count:
            self.skip_epoch()
            return END_OF_EPOCH
        got = self.upstream.pull()
        if isinstance(got, Signal):
            self.num_taken = 0
            return got
        left = self.count - self.num_taken
        if len(got) > left:
            got = got.slice(0, left)
        self.num_taken += len(got)
        self.stats.rows += len(got)
        return got

    def skip(self, rows: int) -> int:
        skipped = self.upstream.skip(min(rows, self.count - self.num_taken))
        self.num_taken += skipped
        return skipped

    def skip_epoch(self) -> None:
        self.upstream.skip_epoch()
        self.num_taken = 0

    def state(self) -> State:
        # after the last row, upstream may be in the middle of a chunk: only the count matters then
        return {"up": self.upstream.state(), "given": self.num_taken}

    def restore(self, state: State) -> None:
        self.upstream.restore(state["up"])
        self.num_taken = state["given"]


class SkipStage(UnaryStage):
    """All but the first ``count`` rows of each epoch."""

    def __init__(self, upstream: Stage, stats: StageStats, count: int) -> None:
        super().__init__(upstream, stats)
        self.count, self.left = count, count

    def pull(self) -> StageOutput:
        if self.left == self.count:
            self.left -= self.upstream.skip(self.left)
        while True:
            got = self.upstream.pull()
            if isinstance(got, Signal):
                self.left = self.count
                return got
            dropped = min(self.left, len(got))
            self.left -= dropped
            if dropped < len(got):
                self.stats.rows += len(got) - dropped
                return got.slice(dropped, len(got)) if dropped else got

    def skip(self, rows: int) -> int:
        skipped = self.upstream.skip(self.left + rows)
        dropped = min(skipped, self.left)
        self.left -= dropped
        return skipped - dropped

    def skip_epoch(self) -> None:
        self.upstream.skip_epoch()
        self.left = self.count

    def state(self) -> State:
        return {"up": self.upstream.state(), "left": self.left}

    def restore(self, state: State) -> None:
        self.upstream.restore(state["up"])
        self.left = state["left"]


class ShardStage(UnaryStage):
    """Every ``shards``-th row of the stream, starting with row ``shard``.

    ``even``: when the last round is incomplete, the shards without a row in it get one from the beginning of the epoch
    (as if the stream wrapped around), so that all have the same number of steps.
    """

    def __init__(self, upstream: Stage, stats: StageStats, shards: int, shard: int, even: bool) -> None:
        super().__init__(upstream, stats)
        self.shards, self.shard, self.even = shards, shard, even
        self.position = 0
        # rows that this shard may repeat at the end: any of the first `shard` rows
        self._first: list[Chunk] = []
        self._start: State = upstream.state()
        self._padded = False

    def pull(self) -> StageOutput:
        if self._padded:
            self._next_epoch()
            return END_OF_EPOCH
        while True:
            got = self.upstream.pull()
            if isinstance(got, Signal):
                return self._end(got)
            for i in range(max(0, min(len(got), self.shard - self.position)) if self.even else 0):
                self._first.append(got.slice(i, i + 1))
            positions = np.arange(self.position, self.position + len(got))
            self.position += len(got)
            selected = got.take(positions % self.shards == self.shard)
            if len(selected):
                self.stats.rows += len(selected)
                return selected

    def _end(self, signal: Signal) -> StageOutput:
        short = self.position % self.shards
        if signal is END_OF_EPOCH and self.even and short and self.shard >= short and self._first:
            self._padded = True
            log.info("shard %d of %d repeats one row: %d rows", self.shard, self.shards, self.position)
            return self._first[(self.shard - short) % len(self._first)]
        self._next_epoch()
        return signal

    def _next_epoch(self) -> None:
        self.position, self._first, self._padded = 0, [], False
        self._start = self.upstream.state()

    def skip_epoch(self) -> None:
        if not self._padded:
            self.upstream.skip_epoch()
        self._next_epoch()

    def state(self) -> State:
        return {
            "up": self.upstream.state(),
            "position": self.position,
            "padded": self._padded,
            "start": self._start,
        }

    def restore(self, state: State) -> None:
        self._start, self._padded = state["start"], state["padded"]
        if self.even and not self._padded:
            # the first rows may be repeated at the end: read the epoch from its start
            self.upstream.restore(self._start)
            while self.position < state["position"]:
                got = self.upstream.pull()
                assert isinstance(got, Chunk)
                for i in range(max(0, min(len(got), self.shard - self.position))):
                    self._first.append(got.slice(i, i + 1))
                self.position += len(got)
            return
        self.upstream.restore(state["up"])
        self.position = state["position"]


class RepeatStage(UnaryStage):
    """Repeats upstream: ``count`` upstream epochs form one epoch; upstream counts its own epochs."""

    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        count: int | None,
        epochs: int | None,
        turn_rows: Callable[[], int | None],
    ) -> None:
        super().__init__(upstream, stats)
        self.count, self.epochs = count, epochs
        # rows of one turn, if known without running
        self.turn_rows = turn_rows
        self.turn, self.epoch, self.rows = 0, 0, 0
        self._rows_this_turn = 0

    def pull(self) -> StageOutput:
        while True:
            if self.epochs is not None and self.epoch >= self.epochs:
                return END_OF_DATA
            got = self.upstream.pull()
            if got is END_OF_DATA:
                return END_OF_DATA
            if isinstance(got, Chunk):
                chunk = Chunk(got.columns, self._ids(got), got.origin, self.epoch, self.rows)
                self.rows += len(got)
                self._rows_this_turn += len(got)
                self.stats.rows += len(got)
                return chunk
            empty, self._rows_this_turn = self._rows_this_turn == 0, 0
            self.turn += 1
            if self.turn == self.count or (self.count is None and empty):
                if empty and self.count is None:
                    log.warning("infinite repeat() over a dataset without rows: ending the epoch")
                self.turn, self.rows, self.epoch = 0, 0, self.epoch + 1
                return END_OF_EPOCH

    def _ids(self, chunk: Chunk) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        return derive_row_ids(chunk.ids, self.turn) if self.turn else chunk.ids

    def skip(self, rows: int) -> int:
        skipped, turn_rows = 0, self.turn_rows()
        while turn_rows and rows - skipped >= (left := turn_rows - self._rows_this_turn):
            if self.turn + 1 == self.count:
                rows = skipped + left  # the last turn ends the epoch itself
                break
            self.upstream.skip_epoch()
            self.turn, self._rows_this_turn = self.turn + 1, 0
            skipped += left
        within = self.upstream.skip(rows - skipped)
        self._rows_this_turn += within
        self.rows += skipped + within
        return skipped + within

    def skip_epoch(self) -> None:
        """Skip the remaining upstream epochs of this epoch, so that epoch numbers stay in step."""
        turns = 1 if self.count is None else self.count - self.turn
        for _ in range(turns):
            self.upstream.skip_epoch()
        self.turn, self.rows, self._rows_this_turn, self.epoch = 0, 0, 0, self.epoch + 1

    def state(self) -> State:
        return {"up": self.upstream.state(), "turn": self.turn, "epoch": self.epoch, "rows": self.rows}

    def restore(self, state: State) -> None:
        self.upstream.restore(state["up"])
        self.turn, self.epoch, self.rows = state["turn"], state["epoch"], state["rows"]
        # the number of rows of this turn is unknown; assume some, so that an infinite repeat continues
        self._rows_this_turn = 1 if self.rows else 0


@register_stage(ops.Take)
def _take(context: StageContext) -> Stage:
    return TakeStage(context.upstream, context.stats, context.node.count)


@register_stage(ops.Skip)
def _skip(context: StageContext) -> Stage:
    return SkipStage(context.upstream, context.stats, context.node.count)


@register_stage(ops.Shard)
def _shard(context: StageContext) -> Stage:
    node = context.node
    return ShardStage(context.upstream, context.stats, node.shards, node.shard, node.pad_to_equal)


@register_stage(ops.Repeat)
def _repeat(context: StageContext) -> Stage:
    turn_rows = partial(context.rows_of, context.node.inputs[0])
    return RepeatStage(context.upstream, context.stats, context.node.count, context.epochs, turn_rows)

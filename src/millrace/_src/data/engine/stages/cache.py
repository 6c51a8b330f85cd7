"""cache behind anything: rows, or batches, kept by their place in the sequence.

Nothing below it is random, so every pass gives the same sequence. What is kept is handed out without running what is
below; where something is missing, what is below is moved to that place, by arithmetic where it can be, and runs from
there on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from millrace._src.core.errors import CacheError, ResourceError
from millrace._src.core.statistics import CacheCounts, StageStats
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.failed_rows import FailedRowLog
from millrace._src.data.engine.segment.cached_read_step import (
    CacheBenefit,
    open_row_store,
    seconds_of,
    warn_cache_lost,
)
from millrace._src.data.plan.fingerprint.plan_fingerprint import cache_key
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.cache_ops import Cache
from millrace._src.data.plan.nodes.order_ops import FlatMap

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .stage_registry import StageContext, register_stage

__all__ = ["CacheStage"]

# Rows handed out at a time.
MOST_ROWS = 256


class CacheStage(UnaryStage):
    """Its state is the epoch and the position in it, and where what is below stands, if it has come as far."""

    def __init__(
        self,
        up: Stage,
        stats: StageStats,
        shelf: Any,
        epochs: int | None,
        below: Sequence[StageStats],
        failed: Callable[[], bool],
    ) -> None:
        super().__init__(up, stats)
        self.epochs, self.epoch, self.position = epochs, 0, 0
        self._shelf, self._below, self._failed = shelf, below, failed
        # where what is below stands in its pass; None: before its first row
        self._at: int | None = None
        # places behind a row that was left out are not what they would be without it; a run resumed there knows of it
        self._bad = False
        self._worth = CacheBenefit()
        self._busy, self._rows = 0.0, 0
        stats.cache = CacheCounts()

    def pull(self) -> StageOutput:
        self.raise_if_interrupted()
        if self.epochs is not None and self.epoch >= self.epochs:
            return END_OF_DATA
        chunk = self._kept()
        if chunk is not None:
            return self._give(chunk)
        if self._ended():
            return self._end()
        got = self._made()
        if isinstance(got, Signal):
            if got is END_OF_DATA:
                return END_OF_DATA
            self._at = None
            self._finish()
            return self._end()
        return self._give(got)

    def _give(self, chunk: Chunk) -> Chunk:
        made = Chunk(chunk.columns, chunk.ids, chunk.origin, self.epoch, self.position)
        self.position += len(chunk)
        self.stats.rows += len(chunk)
        self.stats.chunks += 1
        return made

    def _end(self) -> Signal:
        self.epoch, self.position = self.epoch + 1, 0
        return END_OF_EPOCH

    # kept rows --------------------------------------------------------------------------------------

    def _ended(self) -> bool:
        """The whole sequence was handed out, and what is below need not be asked for its end."""
        total = None if self._shelf is None else self._shelf.table.total
        return total is not None and self.position == total and self._at != self.position

    def _kept(self) -> Chunk | None:
        if self._shelf is None or self._at == self.position:
            return None  # what is below has come this far anyway
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            chunk: Chunk | None = self._shelf.sequence(self.position, MOST_ROWS)
        except (CacheError, ResourceError, OSError) as error:
            self._give_up(error)
            return None
        if chunk is None:
            return None
        spent = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        saved = max(0.0, (self._shelf.cost or 0.0) * len(chunk) - spent)
        self._count(CacheCounts(hits=len(chunk), saved=saved))
        self.stats.busy += spent
        self._shelf.note(hits=len(chunk))
        return chunk

    def _count(self, counts: CacheCounts) -> None:
        before = self.stats.cache
        self.stats.cache = counts if before is None else before + counts

    def _give_up(self, error: Exception) -> None:
        self._shelf = None
        warn_cache_lost(error)

    # rows from below --------------------------------------------------------------------------------

    def _made(self) -> StageOutput:
        self._move()
        got = self.upstream.pull()
        if isinstance(got, Signal):
            return got
        while (
            self._at is not None and self._at < self.position
        ):  # it comes in larger pieces than could be skipped
            gone = min(self.position - self._at, len(got))
            self._at += gone
            if gone < len(got):
                got = got.slice(gone, len(got))
                break
            got = self.upstream.pull()
            if isinstance(got, Signal):
                return got
        self._at = self.position + len(got)
        self._keep(got)
        return got

    def _move(self) -> None:
        """Bring what is below to this position, or a little before it."""
        if self._at is not None and self._at > self.position:
            self.upstream.skip_epoch()
            self._at = None
        if self._at is None:
            self._at = self.upstream.skip(self.position) if self.position else 0

    def _keep(self, chunk: Chunk) -> None:
        shelf = self._shelf
        if shelf is None:
            return
        busy = sum(stage.busy for stage in self._below)
        spent, rows = busy - self._busy, len(chunk)
        self._busy = busy
        counts = CacheCounts(misses=rows)
        if self._whole() and shelf.refused is None and self._worth.while_ is not False:
            numbers = np.arange(self.position, self.position + rows, dtype=np.uint64)
            clock, cpu = time.perf_counter(), time.thread_time()
            try:
                disk = shelf.on_disk
                stored = shelf.put(chunk, numbers)
                if stored and self._worth.while_ is None:
                    self._judge(rows, spent)
            except (CacheError, ResourceError, OSError) as error:
                self._give_up(error)
                return
            counts += CacheCounts(
                stored=stored, bytes=chunk.nbytes if stored else 0, on_disk=shelf.on_disk - disk
            )
            self.stats.busy += seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        if shelf.cost is None and spent > 0:
            shelf.cost = spent / rows
        shelf.note(made=rows, seconds=spent)
        reason = shelf.refused or (self._worth.reason if self._worth.while_ is False else "")
        self._count(counts + CacheCounts(reason=reason))

    def _whole(self) -> bool:
        """No row below has failed in this run, as far as it has come: what is below may be ahead, never behind."""
        self._bad = self._bad or self._failed()
        return not self._bad

    def _judge(self, rows: int, spent: float) -> None:
        clock, cpu = time.perf_counter(), time.thread_time()
        self._shelf.sequence(self.position, MOST_ROWS)
        fetched = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        if spent > 0:  # else what is below was ahead, and nothing is known
            self._worth.saw(rows, spent, fetched)

    def _finish(self) -> None:
        """A pass came to its end: the sequence is so long."""
        shelf = self._shelf
        if shelf is None or not self._whole() or shelf.table.total == self.position:
            return
        if self.position <= shelf.table.capacity:
            shelf.table.total = self.position
            shelf.finish()

    # position ---------------------------------------------------------------------------------------

    def state(self) -> State:
        place = [self.epoch, self.position]
        if self._at is None or self._at != self.position:
            return place
        return [*place, self.upstream.state(), self._bad]

    def restore(self, state: State) -> None:
        self.epoch, self.position, *rest = state
        if rest:
            below, self._bad = rest
            self.upstream.restore(below)
            self._at = self.position

    def is_ready(self) -> bool:
        shelf = self._shelf
        if shelf is not None and self._at != self.position and shelf.has(self.position):
            return True
        return self.upstream.is_ready()

    def skip(self, rows: int) -> int:
        total = None if self._shelf is None else self._shelf.table.total
        if total is None or (self.epochs is not None and self.epoch >= self.epochs):
            return 0
        skipped = max(0, min(rows, int(total) - self.position))
        self.position += skipped
        return skipped

    def skip_epoch(self) -> None:
        self._end()

    def close(self) -> None:
        super().close()
        shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.close()


@register_stage(Cache)
def _keep(making: StageContext) -> Stage:
    node: Cache = making.node
    key = cache_key(node.logical_input or node.inputs[0], making.settings)
    shelf = open_row_store(node.cache, key, making.rows_of(node.inputs[0]))
    failed = UpstreamFailureCheck(node, making.row_error_handler([0, 0]).policy.ledger)
    return CacheStage(making.up, making.stats, shelf, making.epochs, making.upstream_stats, failed)


class UpstreamFailureCheck:
    """Whether a row failed in an op below a cache. Those that fail above it are no matter of the cache's."""

    def __init__(self, node: Cache, ledger: FailedRowLog) -> None:
        below = [op for found in walk(node.inputs[0]) for op in (found, *found.fused_nodes)]
        # what a dataset inside flat_map is made of, nobody knows beforehand: there every failed row counts
        known = not any(isinstance(op, FlatMap) for op in below) and all(op.call_site for op in below)
        self._ends = tuple(f" at {op.call_site}" for op in below) if known else ("",)
        self._ledger, self._seen, self._found = ledger, 0, False

    def __call__(self) -> bool:
        if not self._found and len(self._ledger) != self._seen:
            self._seen = len(self._ledger)
            self._found = any(name.endswith((*self._ends, ")")) for name in self._ledger.summary()["by_op"])
        return self._found

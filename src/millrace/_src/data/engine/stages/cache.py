"""Cache stage for rows or batches keyed by their position in the sequence.

Nothing upstream is random, so every epoch gives the same sequence. Cached rows are emitted without running the upstream
stages. Where a row is missing, the upstream stages are moved to that position, without running if possible, and run
from there on.
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
    cost_seconds,
    open_row_store,
    warn_cache_lost,
)
from millrace._src.data.plan.fingerprint.plan_fingerprint import cache_key
from millrace._src.data.plan.node import walk
from millrace._src.data.plan.nodes.cache_ops import Cache
from millrace._src.data.plan.nodes.order_ops import FlatMap

from .base import END_OF_DATA, END_OF_EPOCH, Signal, Stage, StageOutput, State, UnaryStage
from .stage_registry import StageContext, register_stage

__all__ = ["CacheStage"]

# Rows per emitted chunk.
MAX_ROWS = 256


class CacheStage(UnaryStage):
    """The state is the epoch, the position in it, and the upstream state if upstream is at the same position."""

    def __init__(
        self,
        upstream: Stage,
        stats: StageStats,
        store: Any,
        epochs: int | None,
        below: Sequence[StageStats],
        failed: Callable[[], bool],
    ) -> None:
        super().__init__(upstream, stats)
        self.epochs, self.epoch, self.position = epochs, 0, 0
        self._store, self._below, self._failed = store, below, failed
        # position of the upstream stages in their epoch; None: before the first row
        self._upstream_position: int | None = None
        # after a skipped row, positions are not what they would be without it; a resumed run knows this
        self._has_failures = False
        self._benefit = CacheBenefit()
        self._busy, self._rows = 0.0, 0
        stats.cache = CacheCounts()

    def pull(self) -> StageOutput:
        self.raise_if_interrupted()
        if self.epochs is not None and self.epoch >= self.epochs:
            return END_OF_DATA
        chunk = self._pull_cached()
        if chunk is not None:
            return self._emit(chunk)
        if self._is_at_end():
            return self._end_epoch()
        got = self._pull_upstream()
        if isinstance(got, Signal):
            if got is END_OF_DATA:
                return END_OF_DATA
            self._upstream_position = None
            self._finish()
            return self._end_epoch()
        return self._emit(got)

    def _emit(self, chunk: Chunk) -> Chunk:
        output = Chunk(chunk.columns, chunk.ids, chunk.origin, self.epoch, self.position)
        self.position += len(chunk)
        self.stats.rows += len(chunk)
        self.stats.chunks += 1
        return output

    def _end_epoch(self) -> Signal:
        self.epoch, self.position = self.epoch + 1, 0
        return END_OF_EPOCH

    # cached rows ------------------------------------------------------------------------------------

    def _is_at_end(self) -> bool:
        """The whole sequence was emitted from the cache; the end of the upstream stages need not be determined."""
        total = None if self._store is None else self._store.table.total
        return total is not None and self.position == total and self._upstream_position != self.position

    def _pull_cached(self) -> Chunk | None:
        if self._store is None or self._upstream_position == self.position:
            return None  # upstream is at this position anyway
        clock, cpu = time.perf_counter(), time.thread_time()
        try:
            chunk: Chunk | None = self._store.sequence(self.position, MAX_ROWS)
        except (CacheError, ResourceError, OSError) as error:
            self._disable_cache(error)
            return None
        if chunk is None:
            return None
        spent = cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        saved = max(0.0, (self._store.cost or 0.0) * len(chunk) - spent)
        self._count(CacheCounts(hits=len(chunk), saved=saved))
        self.stats.busy += spent
        self._store.note(hits=len(chunk))
        return chunk

    def _count(self, counts: CacheCounts) -> None:
        before = self.stats.cache
        self.stats.cache = counts if before is None else before + counts

    def _disable_cache(self, error: Exception) -> None:
        self._store = None
        warn_cache_lost(error)

    # upstream rows ----------------------------------------------------------------------------------

    def _pull_upstream(self) -> StageOutput:
        self._move_upstream()
        got = self.upstream.pull()
        if isinstance(got, Signal):
            return got
        while (
            self._upstream_position is not None and self._upstream_position < self.position
        ):  # its chunks are larger than what could be skipped
            gone = min(self.position - self._upstream_position, len(got))
            self._upstream_position += gone
            if gone < len(got):
                got = got.slice(gone, len(got))
                break
            got = self.upstream.pull()
            if isinstance(got, Signal):
                return got
        self._upstream_position = self.position + len(got)
        self._store_chunk(got)
        return got

    def _move_upstream(self) -> None:
        """Move upstream to this position, or slightly before it."""
        if self._upstream_position is not None and self._upstream_position > self.position:
            self.upstream.skip_epoch()
            self._upstream_position = None
        if self._upstream_position is None:
            self._upstream_position = self.upstream.skip(self.position) if self.position else 0

    def _store_chunk(self, chunk: Chunk) -> None:
        store = self._store
        if store is None:
            return
        busy = sum(stage.busy for stage in self._below)
        spent, rows = busy - self._busy, len(chunk)
        self._busy = busy
        counts = CacheCounts(misses=rows)
        if self._is_complete() and store.refused is None and self._benefit.is_worthwhile is not False:
            numbers = np.arange(self.position, self.position + rows, dtype=np.uint64)
            clock, cpu = time.perf_counter(), time.thread_time()
            try:
                disk = store.on_disk
                stored = store.put(chunk, numbers)
                if stored and self._benefit.is_worthwhile is None:
                    self._measure_benefit(rows, spent)
            except (CacheError, ResourceError, OSError) as error:
                self._disable_cache(error)
                return
            counts += CacheCounts(
                stored=stored, bytes=chunk.nbytes if stored else 0, on_disk=store.on_disk - disk
            )
            self.stats.busy += cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        if store.cost is None and spent > 0:
            store.cost = spent / rows
        store.note(made=rows, seconds=spent)
        reason = store.refused or (self._benefit.reason if self._benefit.is_worthwhile is False else "")
        self._count(counts + CacheCounts(reason=reason))

    def _is_complete(self) -> bool:
        """Whether no upstream row has failed in this run so far; upstream may be ahead, never behind."""
        self._has_failures = self._has_failures or self._failed()
        return not self._has_failures

    def _measure_benefit(self, rows: int, spent: float) -> None:
        clock, cpu = time.perf_counter(), time.thread_time()
        self._store.sequence(self.position, MAX_ROWS)
        fetched = cost_seconds(time.perf_counter() - clock, time.thread_time() - cpu)
        if spent > 0:  # otherwise upstream was ahead, and its cost is unknown
            self._benefit.record(rows, spent, fetched)

    def _finish(self) -> None:
        """Record the length of the sequence at the end of an epoch."""
        store = self._store
        if store is None or not self._is_complete() or store.table.total == self.position:
            return
        if self.position <= store.table.capacity:
            store.table.total = self.position
            store.finish()

    # position ---------------------------------------------------------------------------------------

    def state(self) -> State:
        position = [self.epoch, self.position]
        if self._upstream_position is None or self._upstream_position != self.position:
            return position
        return [*position, self.upstream.state(), self._has_failures]

    def restore(self, state: State) -> None:
        self.epoch, self.position, *rest = state
        if rest:
            below, self._has_failures = rest
            self.upstream.restore(below)
            self._upstream_position = self.position

    def is_ready(self) -> bool:
        store = self._store
        if store is not None and self._upstream_position != self.position and store.has(self.position):
            return True
        return self.upstream.is_ready()

    def skip(self, rows: int) -> int:
        total = None if self._store is None else self._store.table.total
        if total is None or (self.epochs is not None and self.epoch >= self.epochs):
            return 0
        skipped = max(0, min(rows, int(total) - self.position))
        self.position += skipped
        return skipped

    def skip_epoch(self) -> None:
        self._end_epoch()

    def close(self) -> None:
        super().close()
        store, self._store = self._store, None
        if store is not None:
            store.close()


@register_stage(Cache)
def _cache(context: StageContext) -> Stage:
    node: Cache = context.node
    key = cache_key(node.logical_input or node.inputs[0], context.settings)
    store = open_row_store(node.cache, key, context.rows_of(node.inputs[0]))
    failed = UpstreamFailureCheck(node, context.row_error_handler([0, 0]).policy.failed_rows)
    return CacheStage(context.upstream, context.stats, store, context.epochs, context.upstream_stats, failed)


class UpstreamFailureCheck:
    """Whether a row failed in an op upstream of a cache. Failures downstream do not matter."""

    def __init__(self, node: Cache, failed_rows: FailedRowLog) -> None:
        below = [op for node_below in walk(node.inputs[0]) for op in (node_below, *node_below.fused_nodes)]
        # the ops of a dataset inside flat_map are not known in advance: there every failed row counts
        known = not any(isinstance(op, FlatMap) for op in below) and all(op.call_site for op in below)
        self._ends = tuple(f" at {op.call_site}" for op in below) if known else ("",)
        self._failed_rows, self._seen, self._has_failed = failed_rows, 0, False

    def __call__(self) -> bool:
        if not self._has_failed and len(self._failed_rows) != self._seen:
            self._seen = len(self._failed_rows)
            self._has_failed = any(
                name.endswith((*self._ends, ")")) for name in self._failed_rows.summary()["by_op"]
            )
        return self._has_failed

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

from millrace.core.chunk import Chunk
from millrace.core.errors import CacheError, ResourceError
from millrace.core.log import warn_once
from millrace.core.stats import CacheCounts, StageStats
from millrace.data.engine.segment.kept import Worth, seconds_of
from millrace.data.plan.fingerprint import key_of
from millrace.data.plan.keep import Cached

from .base import DONE, END, Pulled, Signal, Stage, State, Through
from .table import Making, stage_for

__all__ = ["KeepStage"]

# Rows handed out at a time.
MOST_ROWS = 256


class KeepStage(Through):
    """Its state is the epoch and the position in it: what is below follows."""

    def __init__(
        self,
        up: Stage,
        stats: StageStats,
        shelf: Any,
        epochs: int | None,
        below: Sequence[StageStats],
        failed: Callable[[], int],
    ) -> None:
        super().__init__(up, stats)
        self.epochs, self.epoch, self.position = epochs, 0, 0
        self._shelf, self._below, self._failed = shelf, below, failed
        # where what is below stands in its pass; None: before its first row
        self._at: int | None = None
        # rows that failed before this pass
        self._bad = failed()
        self._worth = Worth()
        self._busy, self._rows = 0.0, 0
        stats.cache = CacheCounts()

    def pull(self) -> Pulled:
        self.check()
        if self.epochs is not None and self.epoch >= self.epochs:
            return DONE
        chunk = self._kept()
        if chunk is not None:
            return self._give(chunk)
        if self._ended():
            return self._end()
        got = self._made()
        if isinstance(got, Signal):
            if got is DONE:
                return DONE
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
        self._bad = self._failed()
        return END

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
        warn_once(
            "cache-gone",
            f"the cache cannot be used any more ({error}); rows are made as without one, and they are the same",
        )

    # rows from below --------------------------------------------------------------------------------

    def _made(self) -> Pulled:
        self._move()
        got = self.up.pull()
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
            got = self.up.pull()
            if isinstance(got, Signal):
                return got
        self._at = self.position + len(got)
        self._keep(got)
        return got

    def _move(self) -> None:
        """Bring what is below to this position, or a little before it."""
        if self._at is not None and self._at > self.position:
            self.up.skip_rest()
            self._at = None
        if self._at is None:
            self._at = self.up.skip(self.position) if self.position else 0

    def _keep(self, chunk: Chunk) -> None:
        shelf = self._shelf
        if shelf is None:
            return
        busy = sum(stage.busy for stage in self._below)
        spent, rows = busy - self._busy, len(chunk)
        self._busy = busy
        counts = CacheCounts(made=rows)
        # behind a row that was left out, places are not what they would be without it
        whole = self._failed() == self._bad
        if whole and shelf.refused is None and self._worth.while_ is not False:
            numbers = np.arange(self.position, self.position + rows, dtype=np.uint64)
            clock, cpu = time.perf_counter(), time.thread_time()
            try:
                stored = shelf.put(chunk, numbers)
                if stored and self._worth.while_ is None:
                    self._judge(rows, spent)
            except (CacheError, ResourceError, OSError) as error:
                self._give_up(error)
                return
            counts += CacheCounts(stored=stored, bytes=chunk.nbytes if stored else 0)
            self.stats.busy += seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        if shelf.cost is None and spent > 0:
            shelf.cost = spent / rows
        shelf.note(made=rows, seconds=spent)
        reason = shelf.refused or (self._worth.reason if self._worth.while_ is False else "")
        self._count(counts + CacheCounts(reason=reason))

    def _judge(self, rows: int, spent: float) -> None:
        clock, cpu = time.perf_counter(), time.thread_time()
        self._shelf.sequence(self.position, MOST_ROWS)
        fetched = seconds_of(time.perf_counter() - clock, time.thread_time() - cpu)
        if spent > 0:  # else what is below was ahead, and nothing is known
            self._worth.saw(rows, spent, fetched)

    def _finish(self) -> None:
        """A pass came to its end: the sequence is so long."""
        shelf = self._shelf
        if shelf is None or self._failed() != self._bad or shelf.table.total == self.position:
            return
        if self.position <= shelf.table.capacity:
            shelf.table.total = self.position
            shelf.finish()

    # position ---------------------------------------------------------------------------------------

    def state(self) -> State:
        return [self.epoch, self.position]

    def restore(self, state: State) -> None:
        self.epoch, self.position = state

    def ready(self) -> bool:
        if self._at != self.position and self._shelf is not None:
            return True
        return self.up.ready()

    def skip(self, rows: int) -> int:
        total = None if self._shelf is None else self._shelf.table.total
        if total is None or (self.epochs is not None and self.epoch >= self.epochs):
            return 0
        skipped = min(rows, int(total) - self.position)
        self.position += skipped
        return skipped

    def skip_rest(self) -> None:
        self._end()

    def close(self) -> None:
        super().close()
        shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.close()


@stage_for(Cached)
def _keep(making: Making) -> Stage:
    node: Cached = making.node
    node.cache.settle()
    key = key_of(node.subject or node.inputs[0], making.settings)
    shelf = node.cache.open(key, making.rows_of(node.inputs[0]))
    ledger = making.mender([0, 0]).policy.ledger
    return KeepStage(making.up, making.stats, shelf, making.epochs, making.below, lambda: len(ledger))

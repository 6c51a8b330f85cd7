"""Error mode REPLACE: the epoch keeps its length; good rows come again at its end for those that failed."""

from __future__ import annotations

from collections.abc import Callable

from millrace.core.chunk import Chunk
from millrace.core.errors import DataError
from millrace.core.rng import mix_into
from millrace.core.stats import StageStats

from .base import END, Pulled, Stage, State, Through

__all__ = ["ReplaceStage"]

# Good rows kept for replacing; more bad rows than this use them again from the start.
KEPT_ROWS = 64


class ReplaceStage(Through):
    """``bad()`` counts rows the segment below has dropped so far. Resuming reads the epoch from its start."""

    def __init__(self, up: Stage, stats: StageStats, bad: Callable[[], int]) -> None:
        super().__init__(up, stats)
        self._bad = bad
        self._bad_before = 0
        self._kept: list[Chunk] = []
        self._given = 0
        self._replaced = 0
        self._ended = False
        self._start: State = up.state()
        self._drop = 0

    def pull(self) -> Pulled:
        while True:
            got = self._next()
            if not isinstance(got, Chunk):
                return got
            if self._drop:  # delivered before the restore
                dropped = min(self._drop, len(got))
                self._drop -= dropped
                got = got.slice(dropped, len(got))
                if not len(got):
                    continue
            self._given += len(got)
            return got

    def _next(self) -> Pulled:
        if not self._ended:
            got = self.up.pull()
            if isinstance(got, Chunk):
                for i in range(min(len(got), KEPT_ROWS - len(self._kept))):
                    self._kept.append(got.slice(i, i + 1))
                return got
            if got is not END:
                return got
            self._ended = True
        missing = self._bad() - self._bad_before
        if self._replaced < missing:
            if not self._kept:
                raise DataError("All data is garbage and cannot be replaced.", op="error mode REPLACE")
            row = self._kept[self._replaced % len(self._kept)]
            self._replaced += 1
            return Chunk(
                row.columns, mix_into(row.ids, 0xBAD, self._replaced), row.origin, row.epoch, row.start
            )
        self._next_epoch()
        return END

    def _next_epoch(self) -> None:
        self._bad_before = self._bad()
        self._kept, self._given, self._replaced, self._ended = [], 0, 0, False
        self._start = self.up.state()

    def skip_rest(self) -> None:
        if not self._ended:
            self.up.skip_rest()
        self._next_epoch()

    def state(self) -> State:
        return {"up": self._start, "given": self._given}

    def restore(self, state: State) -> None:
        self.up.restore(state["up"])
        self._start, self._drop, self._given = state["up"], state["given"], state["given"]

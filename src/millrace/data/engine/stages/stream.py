"""One-pass sources: an iterator can only be read forwards, so its position is a row count.

Resuming means reading again up to that row; a stream that can do better may offer ``rows_from(epoch, row)``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace.core.build import RowsBuilder
from millrace.core.chunk import Chunk
from millrace.core.errors import DataError
from millrace.core.gather import Passing
from millrace.core.rng import Draws, mix
from millrace.core.stats import StageStats
from millrace.data.engine.segment.failures import data_error
from millrace.data.plan.ops import Read

from .base import DONE, END, Pulled, Stage, State
from .table import Making, stage_for

__all__ = ["StreamStage"]

STREAM_ROWS = 64

FLUSH_SECONDS = 0.005
MOST_BYTES = 1 << 20


class StreamStage(Stage):
    def __init__(self, read: Read, seed: int, epochs: int | None, stats: StageStats, rows: int) -> None:
        self.read, self.seed, self.epochs, self.stats, self.rows = read, seed, epochs, stats, rows
        self.columns = list(read.source.schema())
        self.epoch, self.position = 0, 0
        self._stream: Any = None
        self._iterator: Iterator[tuple[Any, ...]] | None = None
        self._ended = False
        self._passing = Passing()
        # raised after the rows that were read before it
        self._failed: DataError | None = None

    def _open(self) -> Iterator[tuple[Any, ...]]:
        if self._stream is None:
            self._stream = self.read.source.open()
        iterator: Iterator[tuple[Any, ...]]
        if getattr(self._stream, "asks", False):  # a user's function with a parameter rng
            epoch = np.zeros(1, np.uint64)
            draws = Draws.for_rows(epoch, seed=self.seed, epoch=self.epoch, op=mix(self.read.op, 0))
            iterator = self._stream.rows(self.epoch, draws)
        else:
            iterator = self._stream.rows(self.epoch)
        for _ in range(self.position):  # a resumed run reads again what was already delivered
            if next(iterator, None) is None:
                break
        return iterator

    def pull(self) -> Pulled:
        self.check()
        if self.epochs is not None and self.epoch >= self.epochs:
            return DONE
        if self._failed is not None:
            raise self._failed
        gathered = RowsBuilder(self.columns, self.rows, MOST_BYTES, self._passing)
        cpu, began = time.thread_time(), time.perf_counter()
        try:
            if self._iterator is None and not self._ended:
                self._iterator = self._open()
            for row in () if self._ended else self._iterator or ():
                gathered.add(row)
                # a slow generator must not hold back the rows that are there
                if gathered.full or time.perf_counter() - began > FLUSH_SECONDS:
                    break
            else:
                self._ended = True
        except Exception as error:
            row_number = self.position + gathered.count
            self._failed = data_error(
                error,
                f"{self.read.label} operation: reading a row",
                op=f"{self.read.label} at {self.read.where}",
                row=row_number,
                columns=self.columns,
            )
            self._failed.__cause__ = error
            if not gathered.count:
                raise self._failed from error
        self.stats.busy += time.perf_counter() - began
        self.stats.cpu += time.thread_time() - cpu
        if not gathered.count:
            self.skip_rest()
            return END
        start, n = self.position, gathered.count
        self.position += n
        origin = np.arange(start, start + n, dtype=np.int64)
        wanted = self.read.columns
        columns = {n: c for n, c in gathered.finish().items() if wanted is None or n in wanted}
        self.stats.rows += n
        self.stats.chunks += 1
        return Chunk(columns, origin.astype(np.uint64), origin, self.epoch, start)

    def state(self) -> State:
        return [self.epoch, self.position]

    def restore(self, state: State) -> None:
        self.epoch, self.position = state
        self._iterator, self._ended = None, False

    def skip_rest(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()  # a generator's finally blocks run now, not when it is collected
        self._iterator, self._ended = None, False
        self.epoch, self.position = self.epoch + 1, 0

    def close(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()
        self._iterator = None
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()


@stage_for(Read)
def _stream(making: Making) -> Stage:
    """Only a source that is read in one pass: one with random access is inside a segment."""
    settings = making.settings
    making.stats.kind = "stream"
    rows = settings.chunk_rows or (1 if settings.debug_mode else STREAM_ROWS)
    return StreamStage(making.node, making.seed, making.epochs, making.stats, rows)

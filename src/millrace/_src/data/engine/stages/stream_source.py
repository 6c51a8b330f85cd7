"""Streaming source stage: reads one-pass iterables; the position is a row count.

Resuming reads again up to that row. An invalid row (a missing value, another type) fails under the row error policy.
When the user's iterator itself fails, there is no next row, so the run fails in any error mode.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.random.rng import RandomStream, hash_integers
from millrace._src.core.statistics import StageStats
from millrace._src.core.values.batch_buffers import ChunkBufferPool
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.chunk_builder import ChunkBuilder
from millrace._src.data.engine.segment.failures import RowErrors, data_error
from millrace._src.data.plan.nodes.order_ops import Read

from .base import END_OF_DATA, END_OF_EPOCH, Stage, StageOutput, State
from .row_error_handler import RowErrorHandler
from .stage_registry import StageContext, register_stage

__all__ = ["StreamStage"]

STREAM_ROWS = 64

FLUSH_SECONDS = 0.005
MAX_BYTES = 1 << 20

# Marks the end of the iterator.
_EXHAUSTED: Any = object()


class StreamStage(Stage):
    def __init__(
        self,
        read: Read,
        seed: int,
        epochs: int | None,
        stats: StageStats,
        rows: int,
        row_error_handler: RowErrorHandler,
    ) -> None:
        self.read, self.seed, self.epochs, self.stats, self.rows = read, seed, epochs, stats, rows
        self.columns = list(read.source.schema())
        self.epoch, self.position = 0, 0
        self._row_error_handler = row_error_handler
        self._name, self._what = f"{read.label} at {read.call_site}", f"{read.label} operation: reading a row"
        self._stream: Any = None
        self._iterator: Iterator[Any] | None = None
        self._buffer_pool = ChunkBufferPool()
        # raised after the rows read before it
        self._failed: DataError | None = None

    def _open(self) -> Iterator[Any]:
        if self._stream is None:
            self._stream = self.read.source.open()
        iterator: Iterator[Any]
        if getattr(self._stream, "wants_rng", False):  # a user function with a parameter rng
            epoch = np.zeros(1, np.uint64)
            random_stream = RandomStream.for_rows(
                epoch, seed=self.seed, epoch=self.epoch, op=hash_integers(self.read.op_id, 0)
            )
            iterator = self._stream.rows(self.epoch, random_stream)
        else:
            iterator = self._stream.rows(self.epoch)
        for _ in range(self.position):  # a resumed run reads the delivered rows again
            if next(iterator, _EXHAUSTED) is _EXHAUSTED:
                break
        return iterator

    def _get_iterator(self) -> Iterator[Any]:
        if self._iterator is None:
            self._iterator = self._open()
        return self._iterator

    def pull(self) -> StageOutput:
        while not self._row_error_handler.ready:
            self.raise_if_interrupted()
            if self.epochs is not None and self.epoch >= self.epochs:
                return END_OF_DATA
            if self._failed is not None:
                raise self._failed
            before, failures = [self.epoch, self.position], RowErrors(self._row_error_handler.policy.mode)
            chunk, rows = self._read_rows(failures)
            if failures.error is not None:
                self._failed = self._row_error_handler.with_file(failures.error)
            if rows == 0 and self._failed is None:
                self._next_epoch()
                self._row_error_handler.end([self.epoch, self.position])
                return END_OF_EPOCH
            after = [self.epoch, self.position]
            self._row_error_handler.add_chunk(
                chunk, rows, failures.leading_failures, failures.failed_rows, before, after
            )
        return self._row_error_handler.next()

    def _read_rows(self, failures: RowErrors) -> tuple[Chunk, int]:
        """The next rows, and how many were read; failed rows are recorded."""
        builder = ChunkBuilder(self.columns, self.rows, MAX_BYTES, self._buffer_pool)
        cpu, began = time.thread_time(), time.perf_counter()
        start, count, bad = self.position, 0, []
        try:
            for item in self._get_iterator():
                count += 1
                try:
                    builder.add(self._stream.make(item))
                except Exception as error:
                    index = np.array([start + count - 1], np.int64)
                    row = Chunk({}, index.astype(np.uint64), index)
                    if not failures.record(row, 0, error, self._name, self._what, self.columns):
                        count -= 1
                        break
                    bad.append(count - 1)
                # a slow generator must not delay the rows that are available
                if builder.full or time.perf_counter() - began > FLUSH_SECONDS:
                    break
        except Exception as error:
            self._failed = self._error(error, start + count)
        self.stats.busy += time.perf_counter() - began
        self.stats.cpu += time.thread_time() - cpu
        self.position += count
        wanted = self.read.columns
        try:
            columns = {n: c for n, c in builder.finish().items() if wanted is None or n in wanted}
        except Exception as error:  # values without a common dtype, such as 2**70
            self._failed = self._error(error, start)
            return Chunk({}, np.empty(0, np.uint64)), 0
        origin = np.delete(np.arange(start, start + count), bad) if bad else np.arange(start, start + count)
        self.stats.rows += builder.count
        self.stats.chunks += 1 if builder.count else 0
        chunk = Chunk(columns, origin.astype(np.uint64), origin, self.epoch, start)
        return failures.fill_replacements(chunk, bad), count

    def _error(self, error: Exception, row: int) -> DataError:
        failed = data_error(error, self._what, op=self._name, row=row, columns=self.columns)
        failed.__cause__ = None if failed is error else error
        return self._row_error_handler.with_file(failed)

    def skip(self, rows: int) -> int:
        """Skip rows: they are read from the iterator, but not converted."""
        over = self.epochs is not None and self.epoch >= self.epochs
        if over or self._failed is not None or not self._row_error_handler.drops_no_rows:
            return 0
        skipped = 0
        try:
            while skipped < rows and next(self._get_iterator(), _EXHAUSTED) is not _EXHAUSTED:
                skipped += 1
                self.raise_if_interrupted()
        except Exception as error:
            self._failed = self._error(error, self.position + skipped)
        self.position += skipped
        self._row_error_handler.reset([self.epoch, self.position])
        return skipped

    def state(self) -> State:
        return self._row_error_handler.state()

    def restore(self, state: State) -> None:
        self.epoch, self.position = self._row_error_handler.restore(state)
        self._iterator = None

    def skip_epoch(self) -> None:
        self._next_epoch()
        self._row_error_handler.reset([self.epoch, self.position])

    def _next_epoch(self) -> None:
        self._close_iterator()
        self.epoch, self.position = self.epoch + 1, 0

    def _close_iterator(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()  # run the finally blocks of a generator now, not at garbage collection
        self._iterator = None

    def close(self) -> None:
        self._close_iterator()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()


@register_stage(Read)
def _stream(context: StageContext) -> Stage:
    """Only for one-pass sources: sources with random access are inside segments."""
    settings = context.settings
    context.stats.stage_type = "stream"
    rows = settings.chunk_rows or (1 if settings.debug_mode else STREAM_ROWS)
    return StreamStage(
        context.node, context.seed, context.epochs, context.stats, rows, context.row_error_handler([0, 0])
    )

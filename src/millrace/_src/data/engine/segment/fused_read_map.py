"""Rows of a user's object straight through the user's function: what was read is not laid aside in between.

Small rows are read and mapped in about the time that memory takes to bring them: a chunk that is written after the read
and read again by the map leaves the processor's cache twice. Here each row goes through the function while it is still
in the cache. The function gets a copy, as always: it may write into its argument, or keep it.

The rows, the errors and the number of calls are those of the two steps, which run as ever from the first row on that is
out of the ordinary, and for some chunks now and then: they tell which share of the time is the read's.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from millrace._src.core.row_warnings import set_row_context
from millrace._src.core.values.chunk import Chunk
from millrace._src.core.values.chunk_builder import ChunkBuilder

from .failures import RowErrors
from .map_step import MapStep
from .read_step import ReadStep
from .step_registry import SegmentStep

__all__ = ["FusedReadMap", "make_fused_read_map"]

# Seconds that both steps take for a row at most: with more, a copy more or less is nothing.
MAX_ROW_SECONDS = 20e-6
# One chunk in so many goes through the two steps.
RECHECK_INTERVAL = 16
_NO_RESULT: Any = object()


def make_fused_read_map(steps: Sequence[SegmentStep], policy: str) -> FusedReadMap | None:
    """The short way for the first two steps of a segment, where they are a user's object and a user's function."""
    if policy != "return" or len(steps) < 2:
        return None
    read, mapped = steps[0], steps[1]
    if type(read) is ReadStep and type(mapped) is MapStep and mapped.plain_function is not None:
        return FusedReadMap(read, mapped)
    return None


class FusedReadMap:
    """Stands for two steps, on chunks for which it pays."""

    def __init__(self, read: ReadStep, mapped: MapStep) -> None:
        self.read, self.mapped = read, mapped
        self._chunks = 0
        # the read's share of the time; None: nothing is known yet, or it does not pay
        self._share: float | None = None

    def record_chunk(self, before: Chunk, after: Chunk, seconds: Sequence[float]) -> None:
        """A chunk that went through both steps, and the seconds of each."""
        self._chunks += 1
        took, rows = seconds[0] + seconds[1], max(1, len(before))
        pays = took / rows < MAX_ROW_SECONDS and len(after) == rows and self._is_supported(after)
        self._share = seconds[0] / max(took, 1e-9) if pays else None

    def _is_supported(self, chunk: Chunk) -> bool:
        """One column is given and made, all others stay as they were read, and its rows are alike."""
        names = list(self.read.op.source.schema())
        if list(chunk.columns) != names or self.mapped.assembler is not None:
            return False
        inputs = self.mapped.op.inputs_of(names)
        if len(inputs) != 1 or inputs != self.mapped.op.outputs_of(names):
            return False
        column = chunk.columns[inputs[0]]
        return isinstance(column, np.ndarray) and _is_number(column)

    def __call__(self, chunk: Chunk, failures: RowErrors) -> tuple[Chunk, list[float], list[float]] | None:
        """The chunk after both steps with the seconds and the processor's seconds of each; None: it has not begun."""
        reader = self.read.opened
        if self._share is None or self._chunks % RECHECK_INTERVAL == 0 or not getattr(reader, "plain", False):
            return None
        self._chunks += 1
        began, worked = time.perf_counter(), time.thread_time()
        rows = _FusedChunk(self, reader, chunk)
        output = rows.run(failures)
        took, used, share = time.perf_counter() - began, time.thread_time() - worked, self._share or 0.5
        return output, [took * share, took * (1 - share)], [used * share, used * (1 - share)]


class _UnexpectedRowError(Exception):
    """A row that the two steps have to look at; with what the function made of it, where it was called."""

    def __init__(self, result: Any = _NO_RESULT) -> None:
        self.result = result


class _FusedChunk:
    """One chunk on its way."""

    def __init__(self, fused: FusedReadMap, reader: Any, chunk: Chunk) -> None:
        self.fused, self.reader, self.chunk = fused, reader, chunk
        self.names: list[str] = reader.converter.columns
        self.column = self.names.index(fused.mapped.op.inputs_of(self.names)[0])
        self.error: Exception | None = None  # of the function

    def run(self, failures: RowErrors) -> Chunk:
        read, mapped, chunk = self.fused.read, self.fused.mapped, self.chunk
        builder = ChunkBuilder(self.names, len(chunk), passing=mapped.buffer_pool)
        before = set_row_context(lambda: failures.describe_row(chunk, builder.count))
        unexpected_row: _UnexpectedRowError | None = None
        try:
            with read.read_lock:
                builder.extend(self._map_rows(map(self.reader.getitem, chunk.origin.tolist())))
                if self.error is None:
                    self.reader.check_end(builder.count, len(chunk))
        except _UnexpectedRowError as unexpected:
            unexpected_row = unexpected
        except Exception as error:
            read.failed(chunk, builder.count, error, failures)
        finally:
            set_row_context(before)
        count = builder.count
        if self.error is not None:
            mapped.failed(chunk, count, self.error, failures, self.names[self.column : self.column + 1])
        mapped_rows = chunk.slice(0, count).with_columns(
            builder.finish() if count else {name: [] for name in self.names}
        )
        if unexpected_row is None:
            return mapped_rows
        rest = read(chunk.slice(count, len(chunk)), failures)
        if len(rest):
            head = () if unexpected_row.result is _NO_RESULT else (unexpected_row.result,)
            rest = mapped(rest, failures, head)
        return Chunk.concat([part for part in (mapped_rows, rest) if len(part)] or [mapped_rows])

    def _map_rows(self, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        c, width, array, to_tuple = self.column, len(self.names), np.ndarray, self.reader.converter.row
        first = c == 0 and width == 2  # by far the most common rows
        input_dtype = output_dtype = None  # the types of the last row: most rows have the same
        function = self.fused.mapped.plain_function
        assert function is not None
        for row in rows:
            if type(row) is not tuple or len(row) != width:
                row = to_tuple(row)
            value = row[c]
            if type(value) is not array or (value.dtype is not input_dtype and not _is_number(value)):
                raise _UnexpectedRowError
            input_dtype = value.dtype
            try:
                result = function(value.copy())
            except Exception as error:
                self.error = error
                return
            if type(result) is not array or (result.dtype is not output_dtype and not _is_number(result)):
                raise _UnexpectedRowError(result)
            output_dtype = result.dtype
            yield (result, row[1]) if first else (*row[:c], result, *row[c + 1 :])


def _is_number(value: np.ndarray[Any, Any]) -> bool:
    return value.dtype.kind in "biufc"

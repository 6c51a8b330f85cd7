"""Fused read and map for user sources and user functions: each row is mapped while it is in the CPU cache.

Reading and mapping a small row takes about as long as loading it from memory: a chunk that is written by the read step
and read again by the map step leaves the CPU cache twice. Here each row passes through the function while it is still
in the cache. The function receives a copy, as always: it may write to its argument, or keep it.

The rows, the errors and the number of calls are those of the two separate steps. The separate steps run from the first
row on that does not fit the expected types, and for one chunk in a while to measure the share of time that reading
takes.
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

# Maximum seconds per row of both steps: for slower rows the saved copy does not matter.
MAX_ROW_SECONDS = 20e-6
# Every how many chunks the two separate steps run.
RECHECK_INTERVAL = 16
_NO_RESULT: Any = object()


def make_fused_read_map(steps: Sequence[SegmentStep], policy: str) -> FusedReadMap | None:
    """The fused step for the first two steps of a segment, if they are a user source and a user function; otherwise
    None.
    """
    if policy != "return" or len(steps) < 2:
        return None
    read, mapped = steps[0], steps[1]
    if type(read) is ReadStep and type(mapped) is MapStep and mapped.plain_function is not None:
        return FusedReadMap(read, mapped)
    return None


class FusedReadMap:
    """Replaces two steps on chunks for which fusing is faster."""

    def __init__(self, read: ReadStep, mapped: MapStep) -> None:
        self.read, self.mapped = read, mapped
        self._chunks = 0
        # share of time spent reading; None: not measured yet, or fusing is not faster
        self._share: float | None = None

    def record_chunk(self, before: Chunk, after: Chunk, seconds: Sequence[float]) -> None:
        """Record the seconds of a chunk that passed through both separate steps."""
        self._chunks += 1
        took, rows = seconds[0] + seconds[1], max(1, len(before))
        pays = took / rows < MAX_ROW_SECONDS and len(after) == rows and self._is_supported(after)
        self._share = seconds[0] / max(took, 1e-9) if pays else None

    def _is_supported(self, chunk: Chunk) -> bool:
        """Whether one column is mapped to itself, the others are unchanged, and the rows are alike."""
        names = list(self.read.op.source.schema())
        if list(chunk.columns) != names or self.mapped.assembler is not None:
            return False
        inputs = self.mapped.op.inputs_of(names)
        if len(inputs) != 1 or inputs != self.mapped.op.outputs_of(names):
            return False
        column = chunk.columns[inputs[0]]
        return isinstance(column, np.ndarray) and _is_number(column)

    def __call__(self, chunk: Chunk, failures: RowErrors) -> tuple[Chunk, list[float], list[float]] | None:
        """The chunk after both steps, and wall and CPU seconds of each; None if the separate steps should run."""
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
    """A row that the separate steps must process, with the function's result if it was already called."""

    def __init__(self, result: Any = _NO_RESULT) -> None:
        self.result = result


class _FusedChunk:
    """The state of one chunk while it is processed."""

    def __init__(self, fused: FusedReadMap, reader: Any, chunk: Chunk) -> None:
        self.fused, self.reader, self.chunk = fused, reader, chunk
        self.names: list[str] = reader.converter.columns
        self.column = self.names.index(fused.mapped.op.inputs_of(self.names)[0])
        self.error: Exception | None = None  # raised by the function

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
        input_dtype = output_dtype = None  # the dtypes of the last row: most rows have the same
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

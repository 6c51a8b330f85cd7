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
CHEAP = 20e-6
# One chunk in so many goes through the two steps.
AGAIN = 16
_NOTHING: Any = object()


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

    def saw(self, before: Chunk, after: Chunk, seconds: Sequence[float]) -> None:
        """A chunk that went through both steps, and the seconds of each."""
        self._chunks += 1
        took, rows = seconds[0] + seconds[1], max(1, len(before))
        pays = took / rows < CHEAP and len(after) == rows and self._is_plain(after)
        self._share = seconds[0] / max(took, 1e-9) if pays else None

    def _is_plain(self, chunk: Chunk) -> bool:
        """One column is given and made, all others stay as they were read, and its rows are alike."""
        names = list(self.read.op.source.schema())
        if list(chunk.columns) != names or self.mapped.slots is not None:
            return False
        inputs = self.mapped.op.inputs_of(names)
        if len(inputs) != 1 or inputs != self.mapped.op.outputs_of(names):
            return False
        made = chunk.columns[inputs[0]]
        return isinstance(made, np.ndarray) and _is_number(made)

    def __call__(self, chunk: Chunk, failures: RowErrors) -> tuple[Chunk, list[float], list[float]] | None:
        """The chunk after both steps with the seconds and the processor's seconds of each; None: it has not begun."""
        reader = self.read.opened
        if self._share is None or self._chunks % AGAIN == 0 or not getattr(reader, "plain", False):
            return None
        self._chunks += 1
        began, worked = time.perf_counter(), time.thread_time()
        rows = _Rows(self, reader, chunk)
        made = rows.run(failures)
        took, used, share = time.perf_counter() - began, time.thread_time() - worked, self._share or 0.5
        return made, [took * share, took * (1 - share)], [used * share, used * (1 - share)]


class _OddError(Exception):
    """A row that the two steps have to look at; with what the function made of it, where it was called."""

    def __init__(self, made: Any = _NOTHING) -> None:
        self.made = made


class _Rows:
    """One chunk on its way."""

    def __init__(self, way: FusedReadMap, reader: Any, chunk: Chunk) -> None:
        self.way, self.reader, self.chunk = way, reader, chunk
        self.names: list[str] = reader.maker.columns
        self.column = self.names.index(way.mapped.op.inputs_of(self.names)[0])
        self.error: Exception | None = None  # of the function

    def run(self, failures: RowErrors) -> Chunk:
        read, mapped, chunk = self.way.read, self.way.mapped, self.chunk
        builder = ChunkBuilder(self.names, len(chunk), passing=mapped.passing)
        before = set_row_context(lambda: failures.describe_row(chunk, builder.count))
        odd: _OddError | None = None
        try:
            with read.read_lock:
                builder.extend(self._through(map(self.reader.getitem, chunk.origin.tolist())))
                if self.error is None:
                    self.reader.check_end(builder.count, len(chunk))
        except _OddError as found:
            odd = found
        except Exception as error:
            read.failed(chunk, builder.count, error, failures)
        finally:
            set_row_context(before)
        at = builder.count
        if self.error is not None:
            mapped.failed(chunk, at, self.error, failures, self.names[self.column : self.column + 1])
        done = chunk.slice(0, at).with_columns(builder.finish() if at else {name: [] for name in self.names})
        if odd is None:
            return done
        rest = read(chunk.slice(at, len(chunk)), failures)
        if len(rest):
            head = () if odd.made is _NOTHING else (odd.made,)
            rest = mapped(rest, failures, head)
        return Chunk.concat([part for part in (done, rest) if len(part)] or [done])

    def _through(self, rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        c, width, array, shaped = self.column, len(self.names), np.ndarray, self.reader.maker.row
        first = c == 0 and width == 2  # by far the most common rows
        given = after = None  # the types of the last row: most rows have the same
        function = self.way.mapped.plain_function
        assert function is not None
        for row in rows:
            if type(row) is not tuple or len(row) != width:
                row = shaped(row)
            value = row[c]
            if type(value) is not array or (value.dtype is not given and not _is_number(value)):
                raise _OddError
            given = value.dtype
            try:
                made = function(value.copy())
            except Exception as error:
                self.error = error
                return
            if type(made) is not array or (made.dtype is not after and not _is_number(made)):
                raise _OddError(made)
            after = made.dtype
            yield (made, row[1]) if first else (*row[:c], made, *row[c + 1 :])


def _is_number(value: np.ndarray[Any, Any]) -> bool:
    return value.dtype.kind in "biufc"

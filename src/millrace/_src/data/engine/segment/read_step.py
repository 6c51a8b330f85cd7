"""Read step: row indices in, columns out; opens the source once per process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from millrace._src.core.random.rng import RandomStream, hash_integers
from millrace._src.core.settings import Settings
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.data.plan.nodes.order_ops import Read

from .failures import RowErrors, data_error
from .step_registry import SegmentStep, register_step

__all__ = ["ReadStep"]


class ReadStep:
    """Opens the source once per process, on the first chunk, and reads the rows of each chunk.

    A source that is not known to be thread-safe is read by one thread at a time, or by as many as the user requested;
    ``tuned``: if that is more than one, by as many as autotune chooses.
    """

    def __init__(self, op: Read, seed: int, tuned: bool = False) -> None:
        self.op, self.seed, self.tuned = op, seed, tuned
        self._reader: Any = None
        self._opening = threading.Lock()
        readers = op.source.max_readers
        self.read_lock = _make_read_lock(None if tuned and readers != 1 else readers)

    def __getstate__(self) -> dict[str, Any]:
        return {"op": self.op, "seed": self.seed, "tuned": self.tuned}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def opened(self) -> Any:
        """The reader, opened at first use."""
        return self._reader or self._open()

    def _open(self) -> Any:
        with self._opening:
            if self._reader is None:
                reader = self.op.source.open()
                choose = getattr(reader, "choose", None)
                if choose is not None and self.op.columns is not None:
                    choose(self.op.columns)  # columns that are not needed are not read
                self._reader = reader
            return self._reader

    def _read_columns(self, reader: Any, chunk: Chunk) -> Mapping[str, Column]:
        columns: Mapping[str, Column]
        if getattr(reader, "wants_rng", False):  # a user's __getitem__ with a parameter rng
            random_stream = RandomStream.for_rows(
                chunk.ids, seed=self.seed, epoch=chunk.epoch, op=hash_integers(self.op.op_id, 0)
            )
            columns = reader.read(chunk.origin, random_stream)
        else:
            columns = reader.read(chunk.origin)
        return columns

    def __call__(self, chunk: Chunk, failures: RowErrors) -> Chunk:
        reader = self.opened
        wanted = self.op.columns
        try:
            with self.read_lock:
                columns = self._read_columns(reader, chunk)
        except Exception as error:
            return self._read_one_by_one(reader, chunk, failures, error)
        if wanted is not None:
            columns = {name: columns[name] for name in wanted}
        return chunk.with_columns(dict(columns))

    def _read_one_by_one(self, reader: Any, chunk: Chunk, failures: RowErrors, error: Exception) -> Chunk:
        """Find the row that failed. Some readers report it; otherwise each row is read separately."""
        names = list(self.op.source.schema())
        known = getattr(error, "row_index", None)
        parts: list[Chunk] = []
        bad: list[int] = []
        start, clean = 0, True
        if known is not None and failures.policy == "return":
            # the rows before it are read again together; the failed row is not read twice
            at = int(np.flatnonzero(chunk.origin == known)[0])
            self.failed(chunk, at, error, failures)
            chunk, clean = chunk.slice(0, at), False
            if at:
                with self.read_lock:
                    parts.append(chunk.with_columns(dict(self._read_columns(reader, chunk))))
            start = at
        for i in range(start, len(chunk)):
            one = chunk.slice(i, i + 1)
            try:
                with self.read_lock:
                    parts.append(one.with_columns(dict(self._read_columns(reader, one))))
            except Exception as cause:
                clean = False
                if not self.failed(chunk, i, cause, failures):
                    break
                bad.append(i)
        if clean:
            # each row can be read alone but not together: the source failed, not a row
            raise data_error(error, self._what, op=self._op, row=int(chunk.origin[0]), columns=[]) from error
        if not parts:
            none = chunk.slice(0, 0).with_columns({name: [] for name in self.op.columns or names})
            return failures.fill_replacements(none, bad)
        kept = Chunk.concat(parts)
        if self.op.columns is not None:
            kept = kept.with_columns({name: kept.columns[name] for name in self.op.columns})
        return failures.fill_replacements(kept, bad)

    @property
    def _what(self) -> str:
        return f"{self.op.label} operation: reading a row"

    @property
    def _op(self) -> str:
        return f"{self.op.label} at {self.op.call_site}"

    def failed(self, chunk: Chunk, i: int, error: Exception, failures: RowErrors) -> bool:
        """Record that row i could not be read. True to continue without it."""
        return failures.record(chunk, i, error, self._op, self._what, list(self.op.source.schema()))

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


def _make_read_lock(readers: int | None) -> contextlib.AbstractContextManager[Any]:
    if readers is None:
        return contextlib.nullcontext()
    return threading.Lock() if readers == 1 else threading.Semaphore(readers)


@register_step(Read)
def _read(op: Read, seed: int, settings: Settings, aligned: bool) -> SegmentStep:
    return ReadStep(op, seed, settings.enable_autotune)

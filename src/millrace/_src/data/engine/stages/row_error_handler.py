"""In-order handling of failed rows per stage: error log entries, replacement rows and the failure limit.

Log entries get the files of their rows. Under REPLACE, rows that failed at the beginning of a chunk are replaced by the
last good row of the previous chunks: the replacement does not depend on chunk boundaries. The state then leads back to
the chunk with that good row, and a resumed run drops what was already delivered.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from millrace._src.core.errors import DataError
from millrace._src.core.values.chunk import Chunk
from millrace._src.data.engine.failed_rows import FailedRow, FailedRowLog
from millrace._src.data.engine.segment.failures import copy_rows, replacement_rows

from .base import State

__all__ = ["RowErrorHandler", "ErrorPolicy"]

E = TypeVar("E", bound=BaseException)

# The share of failed rows is checked once this many rows have been seen, or at the end of an epoch.
LIMIT_FROM_ROWS = 100


@dataclasses.dataclass(frozen=True)
class ErrorPolicy:
    """The error policy of a run: mode, failure limit and log."""

    mode: str
    limit: float
    failed_rows: FailedRowLog


class RowErrorHandler:
    def __init__(
        self, policy: ErrorPolicy, name: str, where: Callable[[int], str | None] | None, start: State
    ) -> None:
        self.policy, self.name, self._where = policy, name, where
        self.replaces = policy.mode == "replace"
        # rows received, and rows that failed under modes 'skip' and 'replace'
        self.rows = 0
        self.dropped = 0
        self.ready: deque[Chunk] = deque()
        # the last good row, which replaces failed rows after it
        self._last_row: Chunk | None = None
        # failed rows of this epoch without a good row before them, per chunk, and their log entries
        self._leading_failures: list[int] = []
        self._entries: list[FailedRow] = []
        # the state that leads back to the last good row, and the rows delivered since
        self._resume_state: State = start
        self._delivered = 0
        # rows received since then: a resumed run processes them again
        self.rows_since_good = 0
        # rows delivered before the restore
        self._rows_to_drop = 0

    @property
    def drops_no_rows(self) -> bool:
        """Whether every input row is delivered, or the run ends with an error."""
        return self.policy.mode == "return"

    # chunks ----------------------------------------------------------------------------------------

    def add_chunk(
        self,
        chunk: Chunk,
        rows: int,
        leading_failures: int,
        entries: list[FailedRow],
        before: State,
        after: State,
    ) -> None:
        """Process the result of a chunk of ``rows`` rows; finished chunks are in ``ready``."""
        self.rows += rows
        self.rows_since_good += rows if self.replaces else 0
        if not self.replaces:
            self._resume_state = after
            if entries:
                self._write(entries)
            if len(chunk):
                self.ready.append(chunk)
            return
        if not len(chunk):
            self._entries += entries
            if self._last_row is None:
                self._leading_failures += [leading_failures] if leading_failures else []
            elif leading_failures:
                self._write_replaced(self._last_row)
                self._queue_chunk(replacement_rows(self._last_row, leading_failures))
            return
        good = chunk.slice(leading_failures, len(chunk))
        self._entries += entries[:leading_failures]
        if self._last_row is None:
            self._write_replaced(good)
            neighbor = chunk
            gaps: list[Chunk] = []
            for count in reversed(self._leading_failures):
                neighbor = replacement_rows(neighbor, count, before=True)
                gaps.insert(0, neighbor)
            if not gaps:
                self._resume_state, self._delivered, self.rows_since_good = before, 0, rows
            for gap in gaps:
                self._queue_chunk(gap)
            self._leading_failures = []
        else:
            self._resume_state, self._delivered, self.rows_since_good = before, 0, rows
            if leading_failures:
                self._write_replaced(self._last_row)
                chunk = _join_rows(replacement_rows(self._last_row, leading_failures), good, chunk)
        self._write(entries[leading_failures:])
        self._queue_chunk(chunk)

    def _queue_chunk(self, chunk: Chunk) -> None:
        # copied before the row is passed on: a user function may write to its arguments
        self._last_row = copy_rows(chunk.slice(len(chunk) - 1, len(chunk)), 1)
        if self._rows_to_drop:
            gone = min(self._rows_to_drop, len(chunk))
            self._rows_to_drop -= gone
            self._delivered += gone
            chunk = chunk.slice(gone, len(chunk))
        if len(chunk):
            self.ready.append(chunk)

    def next(self) -> Chunk:
        chunk = self.ready.popleft()
        self._delivered += len(chunk)
        return chunk

    def end(self, after: State) -> None:
        """End the epoch: check the failure limit and reset."""
        if self._leading_failures:
            self._write(self._entries)
            rows = sum(self._leading_failures)
            raise DataError(
                f"All data is garbage and cannot be replaced: each of the {rows} rows that came to {self.name} "
                "failed; dataset.skipped() lists them",
                op=self.name,
            )
        if self.dropped:
            self.check_limit()
        self.reset(after)

    def reset(self, at: State) -> None:
        """Reset to this position, the beginning of an epoch."""
        self.ready.clear()
        self._last_row, self._leading_failures, self._entries = None, [], []
        self._resume_state, self._delivered, self._rows_to_drop, self.rows_since_good = at, 0, 0, 0

    # position --------------------------------------------------------------------------------------

    def state(self) -> State:
        return {"up": self._resume_state, "given": self._delivered} if self.replaces else self._resume_state

    def restore(self, state: State) -> State:
        """Restore a state. Returns the state that upstream must restore."""
        self.reset(state["up"] if self.replaces else state)
        if self.replaces:
            self._rows_to_drop = state["given"]
        return self._resume_state

    # failed rows -----------------------------------------------------------------------------------

    def _write_replaced(self, by: Chunk) -> None:
        """Log the entries whose replacement is known now."""
        number = int(by.origin[0])
        self._write([dataclasses.replace(entry, replacement=number) for entry in self._entries])
        self._entries = []

    def _write(self, entries: list[FailedRow]) -> None:
        self.dropped += len(entries)
        self.policy.failed_rows.extend([self._entry(entry) for entry in entries])
        if entries and self.rows >= LIMIT_FROM_ROWS:
            self.check_limit()

    def check_limit(self) -> None:
        """Raise DataError when too large a share of rows failed: then the pipeline is wrong, not the rows."""
        limit = self.policy.limit
        if self.dropped > limit * self.rows:
            raise DataError(
                f"{self.dropped} of {self.rows} rows failed, more than config.set_error_samples_limit({limit}) allows;"
                " dataset.skipped() lists them",
                op=self.name,
            )

    # files -----------------------------------------------------------------------------------------

    def with_file(self, error: E) -> E:
        """Add the file of its row to an error, if it is known here and missing."""
        if isinstance(error, DataError) and "file" not in error.context:
            file = self._file(error.context.get("row"))
            if file is not None:
                error.context["file"] = file
        return error

    def _entry(self, entry: FailedRow) -> FailedRow:
        return entry if entry.file is not None else dataclasses.replace(entry, file=self._file(entry.row))

    def _file(self, row: int | None) -> str | None:
        if self._where is None or row is None or row < 0:
            return None
        try:
            return self._where(row)
        except Exception as error:  # the context of an error must never hide the error
            return f"(unknown: {error})"


def _join_rows(head: Chunk, tail: Chunk, original: Chunk) -> Chunk:
    whole = Chunk.concat([head, tail])
    return Chunk(whole.columns, whole.ids, whole.origin, original.epoch, original.start)

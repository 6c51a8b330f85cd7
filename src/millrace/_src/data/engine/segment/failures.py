"""Row error policy inside a chunk: raise, skip or replace rows that fail, with operation, row and column context.

'return' stops the chunk at that row: the rows before it are delivered, then a DataError is raised that names op, row
and column and shows the user's traceback. 'skip' drops the row. 'replace' puts the last good row before it in its
place, as this op produced it; at the beginning of an epoch, where there is none before, the first good one. Both record
the row in the log of failed rows.

A chunk does not know the previous chunk. Rows that fail at its beginning are replaced by its first good row here; the
stage, where chunks arrive in order, substitutes the right one, adds the file of the row, and keeps the log
(``stages/row_error_handler.py``).
"""

from __future__ import annotations

import copy
import dataclasses
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from millrace._src.core.errors import DataError
from millrace._src.core.package import PACKAGE_ROOT
from millrace._src.core.random.rng import derive_row_ids
from millrace._src.core.statistics import CacheCounts
from millrace._src.core.values.chunk import Chunk, Column
from millrace._src.core.values.columns import VariableLengthColumn
from millrace._src.data.engine.failed_rows import FailedRow

__all__ = ["RowErrors", "copy_rows", "data_error", "replacement_rows", "user_traceback"]

# A replacement row has a separate id, derived from its neighbor's, so that ids do not depend on chunk boundaries.
NO_CACHE_COUNTS = CacheCounts()
_AFTER, _BEFORE = 0xBAD, 0xBADBAD


class RowErrors:
    """The failed rows of one chunk: all of them as log entries, or the first as the error that ends the run."""

    def __init__(self, policy: str, where: Callable[[int], str | None] | None = None) -> None:
        self.policy, self._where = policy, where
        self.failed_rows: list[FailedRow] = []
        self.error: DataError | None = None
        # failed rows at the beginning of the chunk that need the last good row of the previous chunk
        self.leading_failures = 0
        # cache counts of the chunk
        self.cached = NO_CACHE_COUNTS

    def empty_copy(self) -> RowErrors:
        """An empty instance with the same policy."""
        return RowErrors(self.policy, self._where)

    def record(self, chunk: Chunk, i: int, error: Exception, op: str, what: str, columns: list[str]) -> bool:
        """Record that row i failed with this error. True to continue without it, False to stop before it."""
        index = int(chunk.origin[i])
        if self.policy == "return":
            self.error = data_error(error, what, op=op, row=index, columns=columns)
            self.error.__cause__ = None if self.error is error else error
            return False
        if isinstance(error, DataError):
            op = error.context.get("op", op)
            columns = [error.context["column"]] if error.context.get("column") else columns
            reason, file = error.message, error.context.get("file")
        else:
            reason, file = f"{type(error).__name__}: {error}", None
        action: Any = self.policy
        self.failed_rows.append(FailedRow(op, index, reason[:500], file, ", ".join(columns), action))
        return True

    def describe_row(self, chunk: Chunk, i: int) -> str:
        """A description of row i: its number, and its file if the source knows it."""
        index = int(chunk.origin[i])
        file = None if self._where is None else self._where(index)
        return f"row {index}" if file is None else f"row {index} ({file})"

    def record_batch(self, chunk: Chunk, error: DataError, op: str) -> bool:
        """Record that a batch of these rows failed. True to continue without it."""
        if self.policy == "return":
            return False
        if "row" in error.context and error.context["row"] >= 0:
            chunk = Chunk({}, chunk.ids[:1], np.array([error.context["row"]], np.int64))
        return self.record(chunk, 0, error, op, "", [])

    def fill_replacements(self, good: Chunk, failed: list[int]) -> Chunk:
        """The good rows of a chunk; with 'replace', also replacements at the positions of failed rows."""
        if self.policy != "replace" or not failed:
            return good
        n = len(good) + len(failed)
        is_good = np.ones(n, np.bool_)
        is_good[failed] = False
        self.leading_failures = int(np.argmax(is_good)) if len(good) else n
        if not len(good):
            return good
        taken = good.take(np.maximum(np.cumsum(is_good) - 1, 0))
        columns = {n: _copy_values(c, failed) for n, c in taken.columns.items()}
        ids = taken.ids.copy()
        for i in range(self.leading_failures - 1, -1, -1):
            ids[i : i + 1] = derive_row_ids(ids[i + 1 : i + 2], _BEFORE)
        for i in failed[self.leading_failures :]:
            ids[i : i + 1] = derive_row_ids(ids[i - 1 : i], _AFTER)
        first = len(self.failed_rows) - len(failed)
        for entry, position in enumerate(
            failed[self.leading_failures :], start=first + self.leading_failures
        ):
            self.failed_rows[entry] = dataclasses.replace(
                self.failed_rows[entry], replacement=int(taken.origin[position])
            )
        return Chunk(columns, ids, taken.origin, good.epoch, good.start)


def _copy_values(column: Column, rows: Iterable[int]) -> Column:
    """A column with these values copied, so that no two rows share memory that a function might write to."""
    if isinstance(column, (np.ndarray, VariableLengthColumn)):
        return column  # its rows do not share memory
    values = list(column)
    for i in rows:
        values[i] = copy.deepcopy(values[i])
    return values


def copy_rows(row: Chunk, count: int) -> Chunk:
    """``count`` copies of this row, each in separate memory."""
    taken = row.take(np.zeros(count, np.int64))
    return taken.with_columns({n: _copy_values(c, range(count)) for n, c in taken.columns.items()})


def replacement_rows(row: Chunk, count: int, *, before: bool = False) -> Chunk:
    """``count`` copies of this row that replace failed rows after it (or before it)."""
    copies = copy_rows(row, count)
    ids = np.empty(count, np.uint64)
    neighbor = row.ids[:1]
    for i in range(count - 1, -1, -1) if before else range(count):
        ids[i : i + 1] = neighbor = derive_row_ids(neighbor, _BEFORE if before else _AFTER)
    return Chunk(copies.columns, ids, copies.origin, row.epoch, row.start)


def data_error(error: Exception, what: str, *, op: str, row: int, columns: list[str]) -> DataError:
    """The error raised to the user, with all known context."""
    if isinstance(error, DataError):
        for key, value in (("op", op), ("row", row), ("column", ", ".join(columns))):
            error.context.setdefault(key, value)
        return error
    message = f"{what} failed. Error description:\n{type(error).__name__}: {error}{_hint(error)}"
    return DataError(message, op=op, row=row, column=", ".join(columns), traceback=user_traceback(error))


def _hint(error: Exception) -> str:
    """A hint for calling a str or bytes method on a text value: as in MindSpore, text and bytes are arrays."""
    value = error.obj if isinstance(error, AttributeError) else None
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "US":
        return ""
    text = value.dtype.kind == "U"
    if not hasattr(str if text else bytes, getattr(error, "name", None) or ""):
        return ""
    called, arrives = f"{error.name}(...)", "Text arrives" if text else "Bytes arrive"  # type: ignore[attr-defined]
    if value.ndim:
        return (
            f". {arrives} as an array of shape {value.shape}: use [item.{called} for item in value.tolist()]."
        )
    ways = f"str(value).{called}, or value.item()" if text else f"value.item().{called}"
    return f". {arrives} as an array of no dimensions: use {ways}."


def user_traceback(error: BaseException) -> str | None:
    """The traceback without Millrace's frames; None if no user code is in it."""
    frames = traceback.extract_tb(error.__traceback__)
    kept = [f for f in frames if not f.filename.startswith(PACKAGE_ROOT)]
    if not kept:
        return None
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(kept)]
    return "".join(lines + traceback.format_exception_only(error))

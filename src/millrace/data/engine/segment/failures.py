"""What happens when a row fails: the only place that knows the error policy.

'return' stops the chunk at that row: the rows before it go on and are delivered, then a DataError is raised that
names op, row and column and shows the user's traceback. 'skip' and 'replace' drop the row and write it into the
ledger (a Replace stage later fills the gap). The file of a row is added by the stage, which knows the source.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from millrace.core.chunk import Chunk
from millrace.core.errors import DataError
from millrace.core.ledger import Entry

__all__ = ["Failures"]

_PACKAGE = str(Path(__file__).resolve().parents[3])


class Failures:
    """The bad rows of one chunk: all of them in the ledger, or the first as the error that ends the run."""

    def __init__(self, policy: str) -> None:
        self.policy = policy
        self.ledger: list[Entry] = []
        self.error: DataError | None = None

    def row(self, chunk: Chunk, i: int, error: Exception, op: str, what: str, columns: list[str]) -> bool:
        """Row i failed with this error: True to go on without it, False to stop before it."""
        index = int(chunk.origin[i])
        if self.policy == "return":
            self.error = data_error(error, what, op=op, row=index, columns=columns)
            self.error.__cause__ = None if self.error is error else error
            return False
        reason = f"{type(error).__name__}: {error}"
        action: Any = self.policy
        self.ledger.append(Entry(op, index, reason[:500], None, ", ".join(columns), action))
        return True

    def batch(self, error: DataError) -> bool:
        """A whole batch could not be made: True to go on without it."""
        if self.policy == "return":
            return False
        context = error.context
        row, column = context.get("row", -1), context.get("column", "")
        action: Any = self.policy
        self.ledger.append(
            Entry(context.get("op", "batch"), row, error.message[:500], context.get("file"), column, action)
        )
        return True


def data_error(error: Exception, what: str, *, op: str, row: int, columns: list[str]) -> DataError:
    """The error a user sees, with everything known about where it happened."""
    if isinstance(error, DataError):
        for key, value in (("op", op), ("row", row), ("column", ", ".join(columns))):
            error.context.setdefault(key, value)
        return error
    message = f"{what} failed. Error description:\n{type(error).__name__}: {error}"
    return DataError(message, op=op, row=row, column=", ".join(columns), traceback=user_traceback(error))


def user_traceback(error: BaseException) -> str | None:
    """The traceback without the engine's own frames; None when the user's code is not in it."""
    frames = traceback.extract_tb(error.__traceback__)
    kept = [f for f in frames if not f.filename.startswith(_PACKAGE)]
    if not kept:
        return None
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(kept)]
    return "".join(lines + traceback.format_exception_only(error))

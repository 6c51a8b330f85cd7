"""What a kernel has to say about a row that is odd, yet good enough to go on: a warning that names the file.

A kernel does not know where its bytes come from. Whoever does (a reader, the runner of a map) says so for its thread,
as a function that is called only when there is something to say.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from .log import warn_once

__all__ = ["RowName", "set_row_context", "warn_row"]

RowName = Callable[[], str | None]


class _RowContext(threading.local):
    row_name: RowName | None = None


_context = _RowContext()


def set_row_context(row_name: RowName | None) -> RowName | None:
    """From now on this thread works on the row that ``place()`` names; returns what was said before.

    >>> before = set_row_context(lambda: "cat/1.jpg")
    >>> _ = set_row_context(before)
    """
    before, _context.row_name = _context.row_name, row_name
    return before


def warn_row(text: str) -> None:
    """Warn of a row, once for each file."""
    row_name = None if _context.row_name is None else _context.row_name()
    message = text if row_name is None else f"{row_name}: {text}"
    warn_once(message, message, stacklevel=4)

"""Warnings about unusual rows, with the name of the file.

A kernel does not know the file of its input. The reader, or the runner of a map, sets the context of its thread: a
function that returns the name of the row, and that is called only for a warning.
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
    """Set the function that names the current row of this thread; return the previous one.

    >>> before = set_row_context(lambda: "cat/1.jpg")
    >>> _ = set_row_context(before)
    """
    before, _context.row_name = _context.row_name, row_name
    return before


def warn_row(text: str) -> None:
    """Warn about a row, once per file."""
    row_name = None if _context.row_name is None else _context.row_name()
    message = text if row_name is None else f"{row_name}: {text}"
    warn_once(message, message, stacklevel=4)

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


class _Here(threading.local):
    place: RowName | None = None


_here = _Here()


def set_row_context(place: RowName | None) -> RowName | None:
    """From now on this thread works on the row that ``place()`` names; returns what was said before.

    >>> before = set_row_context(lambda: "cat/1.jpg")
    >>> _ = set_row_context(before)
    """
    before, _here.place = _here.place, place
    return before


def warn_row(text: str) -> None:
    """Warn of a row, once for each file."""
    place = None if _here.place is None else _here.place()
    message = text if place is None else f"{place}: {text}"
    warn_once(message, message, stacklevel=4)

"""How long the end of a run waits for threads that may be inside a user's code.

All waits of one closing share one limit, so that it does not grow with the number of stages.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

__all__ = ["GRACE_SECONDS", "join_thread", "remaining_seconds", "shutdown_deadline"]

# Seconds: with what comes after them, closing stays below one.
GRACE_SECONDS = 0.5


class _Limit(threading.local):
    until: float | None = None


_limit = _Limit()


@contextlib.contextmanager
def shutdown_deadline(seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """Everything that this thread closes in here waits no longer than this, together."""
    before, _limit.until = _limit.until, time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = before


def remaining_seconds() -> float:
    """Seconds that are left to wait.

    >>> with shutdown_deadline(60):
    ...     59 < remaining_seconds() <= 60
    True
    """
    return GRACE_SECONDS if _limit.until is None else max(0.0, _limit.until - time.monotonic())


def join_thread(thread: threading.Thread) -> bool:
    """Wait for the thread to end; False when it has not, or when it is the one that asks."""
    if thread is threading.current_thread():
        return False
    thread.join(remaining_seconds())
    return not thread.is_alive()

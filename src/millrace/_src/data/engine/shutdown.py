"""Shared shutdown deadline: how long closing a run waits for its threads.

The threads may be inside user code. All waits of one shutdown share one deadline, so that it does not grow with the
number of stages.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator

__all__ = ["GRACE_SECONDS", "join_thread", "remaining_seconds", "shutdown_deadline"]

# In seconds; together with the remaining steps, closing stays below one second.
GRACE_SECONDS = 0.5


class _Limit(threading.local):
    until: float | None = None


_limit = _Limit()


@contextlib.contextmanager
def shutdown_deadline(seconds: float = GRACE_SECONDS) -> Iterator[None]:
    """Let all waits of this thread inside the block share one deadline."""
    before, _limit.until = _limit.until, time.monotonic() + seconds
    try:
        yield
    finally:
        _limit.until = before


def remaining_seconds() -> float:
    """Seconds left until the deadline.

    >>> with shutdown_deadline(60):
    ...     59 < remaining_seconds() <= 60
    True
    """
    return GRACE_SECONDS if _limit.until is None else max(0.0, _limit.until - time.monotonic())


def join_thread(thread: threading.Thread) -> bool:
    """Wait for the thread to end; False if it has not ended in time, or if it is the calling thread."""
    if thread is threading.current_thread():
        return False
    thread.join(remaining_seconds())
    return not thread.is_alive()

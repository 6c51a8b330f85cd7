"""Dispatch overhead of a chunk on this machine, apart from the work on its rows."""

from __future__ import annotations

import functools
import time

__all__ = ["BYTE_SECONDS", "PROCESS_SECONDS", "dispatch_seconds"]

# Processor seconds to send a chunk to a worker process and its result back, and per byte of both.
PROCESS_SECONDS = 250e-6
BYTE_SECONDS = 1e-9
# An op runs about as much Python per chunk as this many iterations of the loop below (measured).
TURNS = 220


@functools.cache
def dispatch_seconds() -> float:
    """Processor seconds that one op needs per chunk apart from the rows; measured once, in a millisecond.

    >>> 0 < dispatch_seconds() < 0.01
    True
    """
    # the minimum of several measurements: disturbances only increase the time
    return max(1e-7, min(_seconds() for _ in range(8)))


def _seconds() -> float:
    began = time.thread_time()
    for _ in range(20):
        sum(i for i in range(TURNS))
    return (time.thread_time() - began) / 20

"""How many workers a segment gets, and whether they are threads or processes.

Threads share memory and start at once, but every call into a library gives the GIL up and has to win it back, and with
more than a few threads that queue is the bottleneck: decoding on 16 threads ran no faster than on 3, on 16 processes
ten times as fast (docs/design/2026-11-15-decode.md). So heavy work of our own over files goes to processes once many
workers are wanted. A user's functions and objects stay in the user's process unless the user says otherwise.
"""

from __future__ import annotations

from millrace.core.config import DEFAULT_WORKERS
from millrace.core.cores import available_cores
from millrace.core.settings import Settings
from millrace.data.plan.ops import Read
from millrace.data.plan.physical import Segment

__all__ = ["spreads", "workers_of"]

# Up to here threads scale.
MOST_THREADS = 2
# Processes take up to a second to start, and a new iterator starts new ones: a short epoch is over sooner on threads.
LEAST_ROWS = 4096


def workers_of(segment: Segment, settings: Settings) -> int:
    """The number the user gave for an op or for all; else what suits the machine and the work."""
    if any(op.in_turn for op in segment.ops):
        return 1
    asked = [op.workers for op in segment.ops if op.workers is not None]
    if asked:
        return max(asked)
    if settings.num_parallel_workers is not None:
        return settings.num_parallel_workers
    default = min(DEFAULT_WORKERS, available_cores())
    first = segment.ops[0]
    reads = isinstance(first, Read)
    only_stacks = all(op.batches and not op.user_code for op in segment.ops[reads:])
    if isinstance(first, Read):
        # rows that one thread at a time may read, and then only stacked: a second thread would only wait
        return 1 if first.source.readers == 1 and only_stacks else default
    # stacking alone is a copy: two threads saturate the memory bus
    return min(2, default) if only_stacks else default


def spreads(segment: Segment, settings: Settings) -> bool:
    """Whether this segment goes to processes though nobody asked for them."""
    first = segment.ops[0]
    if settings.debug_mode or settings.executor is not None or not isinstance(first, Read):
        return False
    if not first.source.reopens or any(op.user_code or op.processes for op in segment.ops):
        return False
    # more processes than cores would only take turns
    workers = min(workers_of(segment, settings), available_cores())
    if not segment.heavy or workers <= MOST_THREADS:
        return False
    rows = first.size(())
    return isinstance(rows, int) and rows >= LEAST_ROWS

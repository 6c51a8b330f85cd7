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
from millrace.data.plan.node import Node
from millrace.data.plan.ops import Batch, Filter, Map, Read
from millrace.data.plan.physical import Segment
from millrace.data.transforms.base import PyFunc, inside, is_ordered

__all__ = ["is_heavy", "spreads", "wish_of", "workers_of"]

# Up to here threads scale.
MOST_THREADS = 2
# Processes take up to a second to start, and a new iterator starts new ones: a short epoch is over sooner on threads.
LEAST_ROWS = 4096


def wish_of(op: Node) -> str:
    """Where an op wants to run: 'any', or what the user asked for."""
    if isinstance(op, Read):
        return op.source.wish
    if isinstance(op, (Map, Batch)):
        if op.processes:
            return "processes"
        return "threads" if _has_user_code(op) else "any"
    return "threads" if isinstance(op, Filter) else "any"


def _has_user_code(op: Node) -> bool:
    if isinstance(op, Batch):
        return op.per_batch_map is not None
    return isinstance(op, Map) and any(
        isinstance(part, PyFunc) for whole in op.operations for part in inside(whole)
    )


def is_heavy(segment: Segment) -> bool:
    """Whether a row takes about a millisecond or more."""
    for op in segment.ops:
        if isinstance(op, Read) and op.source.heavy:
            return True
        if isinstance(op, Map) and any(part.heavy for whole in op.operations for part in inside(whole)):
            return True
    return False


def workers_of(segment: Segment, settings: Settings) -> int:
    """The number the user gave for an op or for all; else what suits the machine and the work."""
    if any(is_ordered(op) for node in segment.ops if isinstance(node, Map) for op in node.operations):
        return 1
    asked: list[int] = [w for op in segment.ops if (w := getattr(op, "workers", None)) is not None]
    if asked:
        return max(asked)
    if settings.num_parallel_workers is not None:
        return settings.num_parallel_workers
    default = min(DEFAULT_WORKERS, available_cores())
    first = segment.ops[0]
    reads = isinstance(first, Read)
    only_stacks = all(isinstance(op, Batch) and op.per_batch_map is None for op in segment.ops[reads:])
    if isinstance(first, Read):
        # rows that one thread at a time may read, and then only stacked: a second thread would only wait
        return 1 if first.source.exclusive and only_stacks else default
    # stacking alone is a copy: two threads saturate the memory bus
    return min(2, default) if only_stacks else default


def spreads(segment: Segment, settings: Settings) -> bool:
    """Whether this segment goes to processes though nobody asked for them."""
    first = segment.ops[0]
    if settings.debug_mode or settings.executor is not None or not isinstance(first, Read):
        return False
    if not first.source.reopens or any(wish_of(op) != "any" for op in segment.ops):
        return False
    ours = all(
        type(part).__module__.startswith("millrace.")
        for op in segment.ops
        if isinstance(op, Map)
        for whole in op.operations
        for part in inside(whole)
    )
    # more processes than cores would only take turns
    workers = min(workers_of(segment, settings), available_cores())
    if not ours or not is_heavy(segment) or workers <= MOST_THREADS:
        return False
    rows = first.size(())
    return isinstance(rows, int) and rows >= LEAST_ROWS

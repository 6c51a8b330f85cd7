"""Each segment gets its executor and its number of workers."""

from __future__ import annotations

from millrace.core.cores import available_cores
from millrace.core.settings import Settings
from millrace.plan.node import Node, rewrite
from millrace.plan.ops import Batch, Read
from millrace.plan.physical import Segment

from .fuse_rows import wish_of

__all__ = ["DEFAULT_WORKERS", "place"]

DEFAULT_WORKERS = 8


def place(root: Node, settings: Settings) -> Node:
    def rule(node: Node) -> Node:
        if not isinstance(node, Segment):
            return node
        return node.replace(executor=_executor(node, settings), workers=_workers(node, settings))

    return rewrite(root, rule)


def _executor(segment: Segment, settings: Settings) -> str:
    if settings.debug_mode:
        return "inline"
    if settings.executor is not None:
        return settings.executor
    return "processes" if any(wish_of(op) == "processes" for op in segment.ops) else "threads"


def _workers(segment: Segment, settings: Settings) -> int:
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

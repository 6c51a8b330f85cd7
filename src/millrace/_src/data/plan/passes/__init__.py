"""Rewrite passes in the order in which they run. Each is a pure function of a tree and the settings."""

from __future__ import annotations

from collections.abc import Callable

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node
from millrace._src.data.plan.nodes.physical import Segment

from .assign_executors import assign_executors, assign_single_executor
from .defer_decode import defer_decode
from .eliminate_noops import eliminate_noops
from .fuse_cache import fuse_cache
from .fuse_segments import fuse_segments
from .fuse_transforms import fuse_transforms
from .prune_columns import prune_columns
from .push_down_order import push_down_order
from .write_into_batch import write_into_batch, write_segment_into_batch

__all__ = ["PASSES", "optimize_cached_segment"]

PASSES: tuple[tuple[str, Callable[[Node, Settings], Node]], ...] = (
    ("drop no-ops", eliminate_noops),
    ("push order down", push_down_order),
    ("prune columns", prune_columns),
    ("keep rows", fuse_cache),
    ("place", assign_executors),
    ("fuse rows", fuse_segments),
    ("join transforms", fuse_transforms),
    ("decode late", defer_decode),
    ("gather rows", write_into_batch),
)


def optimize_cached_segment(node: Node, settings: Settings, gather: int | None) -> Segment:
    """Optimize the ops below a cache to one segment, which runs where the cache is read.

    ``gather`` is the number of rows per batch, if its rows are written into batches.
    """
    for apply in (assign_single_executor, fuse_segments, fuse_transforms, defer_decode):
        node = apply(node, settings)
    assert isinstance(node, Segment)
    return node if gather is None else write_segment_into_batch(node, gather)

"""The passes, in the one order in which they run. Each is a pure function of a tree and the settings."""

from __future__ import annotations

from collections.abc import Callable

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node
from millrace._src.data.plan.nodes.physical import Segment

from .assign_executors import place, place_together
from .defer_decode import decode_late
from .eliminate_noops import drop_noops
from .fuse_cache import keep_rows
from .fuse_segments import fuse_rows
from .fuse_transforms import join_transforms
from .prune_columns import prune_columns
from .push_down_order import push_order
from .write_into_batch import gather_into, gather_rows

__all__ = ["PASSES", "inside_out"]

PASSES: tuple[tuple[str, Callable[[Node, Settings], Node]], ...] = (
    ("drop no-ops", drop_noops),
    ("push order down", push_order),
    ("prune columns", prune_columns),
    ("keep rows", keep_rows),
    ("place", place),
    ("fuse rows", fuse_rows),
    ("join transforms", join_transforms),
    ("decode late", decode_late),
    ("gather rows", gather_rows),
)


def inside_out(node: Node, settings: Settings, gather: int | None) -> Segment:
    """What stands below a cache, made ready to run as one piece of work wherever the cache is.

    ``gather``: its rows are on their way into batches of so many.
    """
    for apply in (place_together, fuse_rows, join_transforms, decode_late):
        node = apply(node, settings)
    assert isinstance(node, Segment)
    return node if gather is None else gather_into(node, gather)

"""The passes, in the one order in which they run. Each is a pure function of a tree and the settings."""

from __future__ import annotations

from collections.abc import Callable

from millrace.core.settings import Settings
from millrace.data.plan.node import Node
from millrace.data.plan.physical import Segment

from .decode_late import decode_late
from .drop_noops import drop_noops
from .fuse_rows import fuse_rows
from .gather_rows import gather_into, gather_rows
from .join_transforms import join_transforms
from .keep_rows import keep_rows
from .place import place, place_together
from .prune_columns import prune_columns
from .push_order import push_order

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

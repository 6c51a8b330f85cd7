"""A cache and what is below it become one source, where rows are kept by their numbers: what is kept is not made again.

What cannot be kept is refused here, before the first row: random ops, and an order that changes where rows are kept by
their place in the sequence.
"""

from __future__ import annotations

from millrace.core.log import warn_once
from millrace.core.settings import Settings
from millrace.data.plan.keep import Cached, check_below, draws_itself
from millrace.data.plan.node import Node, rewrite, walk
from millrace.data.plan.ops import Map, Project
from millrace.data.plan.physical import KeptRead
from millrace.data.transforms.base import PyFunc, inside

__all__ = ["keep_rows"]


def keep_rows(root: Node, settings: Settings) -> Node:
    def rule(node: Node) -> Node:
        if not isinstance(node, Cached):
            return node
        check_below(node)
        _warn_of_draws(node)
        return KeptRead.of(node) if node.by_number else node

    made = rewrite(root, rule)
    return rewrite(made, _only_wanted) if made is not root else root


def _only_wanted(node: Node) -> Node:
    """Columns that the next op drops are not even fetched."""
    below = node.inputs[0] if node.inputs else None
    if isinstance(node, Project) and isinstance(below, KeptRead) and below.columns is None:
        return node.replace(inputs=(below.replace(columns=node.columns),))
    return node


def _warn_of_draws(node: Cached) -> None:
    for below in walk(node.inputs[0]):
        operations = below.operations if isinstance(below, Map) else ()
        for part in (part for whole in operations for part in inside(whole)):
            name = draws_itself(part.function) if isinstance(part, PyFunc) else None
            if name is not None:
                warn_once(
                    f"cache-draws-{below.where}",
                    f"the function of the map at {below.where} uses {name}, and the cache at {node.where} keeps what "
                    "it makes of each row the first time: if it is meant to draw anew in every epoch, move the map "
                    "behind the cache",
                )

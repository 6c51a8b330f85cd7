"""Fuse a cache by row number with the ops below it to one source, so that cached rows are not computed again.

Pipelines that cannot be cached are refused here, before the first row: random ops, and a varying order if rows are
cached by their index in the sequence.
"""

from __future__ import annotations

from millrace._src.core.log import warn_once
from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite, walk
from millrace._src.data.plan.nodes.cache_ops import Cache, check_cacheable, find_random_call, user_functions
from millrace._src.data.plan.nodes.order_ops import FlatMap, Project, Read
from millrace._src.data.plan.nodes.physical import CachedRead

__all__ = ["fuse_cache"]


def fuse_cache(root: Node, settings: Settings) -> Node:
    def rule(node: Node) -> Node:
        if not isinstance(node, Cache):
            return node
        check_cacheable(node)
        _warn_random_calls(node)
        if node.is_keyed_by_row:
            return CachedRead.of(node)
        return node.replace(
            inputs=(rewrite(node.inputs[0], lambda below: _mark_flat_map(below, node.call_site)),)
        )

    rewritten = rewrite(root, rule)
    return rewrite(rewritten, _drop_unused_columns) if rewritten is not root else root


def _mark_flat_map(node: Node, where: str) -> Node:
    """Mark a flat_map: its datasets are known only at run time, and the stage checks whether they can be cached."""
    return node.replace(cache_call_site=where) if isinstance(node, FlatMap) else node


def _drop_unused_columns(node: Node) -> Node:
    """Do not read columns from the cache that the next op drops."""
    below = node.inputs[0] if node.inputs else None
    if isinstance(node, Project) and isinstance(below, CachedRead) and below.columns is None:
        return node.replace(inputs=(below.replace(columns=node.columns),))
    return node


def _warn_random_calls(node: Cache) -> None:
    for below in walk(node.inputs[0]):
        for what, function in user_functions(below):
            name = find_random_call(function)
            if name is not None:
                op = below.label if isinstance(below, Read) else below.label.lower()
                warn_once(
                    f"cache-draws-{below.call_site}",
                    f"the {what} of the {op} at {below.call_site} uses {name}, and the cache at "
                    f"{node.call_site} stores its first result for each row: if the numbers should differ in every "
                    f"epoch, move the {op} behind the cache",
                )

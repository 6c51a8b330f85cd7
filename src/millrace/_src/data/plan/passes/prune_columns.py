"""Prune unused columns: the columns of a project are pushed down to the source."""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, schema_of
from millrace._src.data.plan.nodes.read import Read

__all__ = ["prune_columns"]


def prune_columns(root: Node, settings: Settings) -> Node:
    return _prune(root, None)


def _prune(node: Node, needed: set[str] | None) -> Node:
    """Rewrite so that at least the needed columns arrive; None means all of them."""
    if isinstance(node, Read):
        if needed is None:
            return node
        columns = list(node.source.schema())
        kept = tuple(name for name in columns if name in needed)
        # a row needs a column to exist: keep one when the consumer wants none of them
        return node if len(kept) in (0, len(columns)) else node.replace(columns=kept)
    below = _needed_below(node, needed)
    inputs = tuple(_prune(child, below) for child in node.inputs)
    return node.replace(inputs=inputs) if inputs != node.inputs else node


def _needed_below(node: Node, needed: set[str] | None) -> set[str] | None:
    if node.required_columns is not None:
        return set(node.required_columns)
    before = schema_of(node.inputs[0]) if node.inputs else None
    return None if needed is None or before is None else node.input_columns_for(needed, list(before))

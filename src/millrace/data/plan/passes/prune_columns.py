"""Columns that nobody uses are not read: what a project keeps travels down to the source."""

from __future__ import annotations

from millrace.core.settings import Settings
from millrace.data.plan.node import Node, schema_of
from millrace.data.plan.ops import Batch, Filter, Map, Project, Read, Rename, Shuffle, Skip, Take

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
    if isinstance(node, Project):
        return set(node.columns)
    if needed is None:
        return None
    before = schema_of(node.inputs[0]) if node.inputs else None
    if before is None:
        return None
    if isinstance(node, Map):
        names = list(before)
        return (needed - set(node.outputs_of(names))) | set(node.inputs_of(names))
    if isinstance(node, Filter):
        return None if node.input_columns is None else needed | set(node.input_columns)
    if isinstance(node, Rename):
        back = dict(zip(node.output_columns, node.input_columns, strict=True))
        return {back.get(name, name) for name in needed}
    if isinstance(node, Batch):
        return needed if node.per_batch_map is None and not node.pad_info else None
    if isinstance(node, (Shuffle, Skip, Take)):
        return needed
    return None

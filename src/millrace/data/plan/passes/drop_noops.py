"""Ops that change nothing go away: repeat(1), skip(0), a projection onto the same columns."""

from __future__ import annotations

from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite, schema_of
from millrace.data.plan.ops import Project, Repeat, Skip

__all__ = ["drop_noops"]


def drop_noops(root: Node, settings: Settings) -> Node:
    return rewrite(root, _rule)


def _rule(node: Node) -> Node:
    if isinstance(node, Repeat) and node.count == 1:
        return node.inputs[0]
    if isinstance(node, Skip) and node.count == 0:
        return node.inputs[0]
    if isinstance(node, Project):
        before = schema_of(node.inputs[0])
        if before is not None and list(before) == list(node.columns):
            return node.inputs[0]
    return node

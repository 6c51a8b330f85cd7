"""Remove ops without effect: repeat(1), skip(0), a projection onto the same columns."""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite

__all__ = ["eliminate_noops"]


def eliminate_noops(root: Node, settings: Settings) -> Node:
    return rewrite(root, lambda node: node.inputs[0] if node.is_noop() else node)

"""Each segment gets its executor and its number of workers."""

from __future__ import annotations

from millrace.core.executors import APART, BESIDE, DIRECT
from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite
from millrace.data.plan.physical import Segment

from .spread import spreads, workers_of

__all__ = ["place"]


def place(root: Node, settings: Settings) -> Node:
    def rule(node: Node) -> Node:
        if not isinstance(node, Segment):
            return node
        return node.replace(executor=_executor(node, settings), workers=workers_of(node, settings))

    return rewrite(root, rule)


def _executor(segment: Segment, settings: Settings) -> str:
    if settings.debug_mode:
        return DIRECT
    if settings.executor is not None:
        return settings.executor
    asked = any(op.processes for op in segment.ops)
    return APART if asked or spreads(segment, settings) else BESIDE

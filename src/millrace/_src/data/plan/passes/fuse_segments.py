"""Ops that were placed together become one segment: one hand-over per chunk instead of one per op."""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.order_ops import Batch, Read, SliceStep
from millrace._src.data.plan.nodes.physical import Segment

__all__ = ["fuse_segments"]


def fuse_segments(root: Node, settings: Settings) -> Node:
    return rewrite(root, _rule)


def _rule(node: Node) -> Node:
    if node.place is None or isinstance(node, Segment):
        return node
    below = node.inputs[0] if node.inputs else None
    op = node.replace(inputs=())
    if not isinstance(below, Segment) or below.place is not node.place:
        inputs = () if below is None else (below,)
        if node.place.before is not None:
            inputs = (node.place.before.replace(inputs=inputs),)
        return Segment(inputs=inputs, ops=(op,), op=op.op, where=op.where, place=node.place)
    first = below.ops[0]
    if isinstance(node, Batch) and node.drop_remainder and node.place.unit > 1 and isinstance(first, Read):
        # rows of the last, short batch are not even read
        cut = first.replace(steps=(*first.steps, SliceStep(multiple=node.place.unit)))
        below = below.replace(ops=(cut, *below.ops[1:]))
    return below.replace(ops=(*below.ops, op))

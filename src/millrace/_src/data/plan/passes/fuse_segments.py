"""Fuse ops with the same placement to one segment: one dispatch per chunk instead of one per op."""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.order_ops import Batch, Read, SliceStep
from millrace._src.data.plan.nodes.physical import Segment

__all__ = ["fuse_segments"]


def fuse_segments(root: Node, settings: Settings) -> Node:
    return rewrite(root, _rule)


def _rule(node: Node) -> Node:
    if node.placement is None or isinstance(node, Segment):
        return node
    below = node.inputs[0] if node.inputs else None
    op = node.replace(inputs=())
    if not isinstance(below, Segment) or below.placement is not node.placement:
        inputs = () if below is None else (below,)
        if node.placement.rebatch is not None:
            inputs = (node.placement.rebatch.replace(inputs=inputs),)
        return Segment(
            inputs=inputs, ops=(op,), op_id=op.op_id, call_site=op.call_site, placement=node.placement
        )
    first = below.ops[0]
    if (
        isinstance(node, Batch)
        and node.drop_remainder
        and node.placement.row_multiple > 1
        and isinstance(first, Read)
    ):
        # do not read the rows of the last, incomplete batch
        cut = first.replace(order_steps=(*first.order_steps, SliceStep(multiple=node.placement.row_multiple)))
        below = below.replace(ops=(cut, *below.ops[1:]))
    return below.replace(ops=(*below.ops, op))

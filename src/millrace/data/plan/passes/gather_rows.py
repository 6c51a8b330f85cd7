"""Rows that are on their way into a batch are written straight into it by whoever makes them.

Only for batches of a fixed size over a random-access source with nothing between that drops rows: then a row's position
tells its batch. The batch is in the same segment, or behind a Regroup; that one only if workers share memory.
"""

from __future__ import annotations

from millrace.core.executors import traits_of
from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite
from millrace.data.plan.ops import Batch, Map
from millrace.data.plan.physical import Regroup, Segment

__all__ = ["gather_rows"]


def gather_rows(root: Node, settings: Settings) -> Node:
    if settings.error_samples_mode != "return":  # rows that are left out move all that follow
        return root

    def rule(node: Node) -> Node:
        if not isinstance(node, Segment):
            return node
        if isinstance(node.ops[-1], Batch) and node.batch_rows is not None:
            return _gathered(node, node.ops[-1])
        below = node.inputs[0] if node.inputs else None
        if isinstance(node.ops[0], Batch) and isinstance(below, Regroup):
            rows = below.inputs[0]
            if isinstance(rows, Segment) and traits_of(rows.place.executor).shares_memory:
                return node.replace(inputs=(below.replace(inputs=(_gathered(rows, node.ops[0]),)),))
        return node

    return rewrite(root, rule)


def _gathered(segment: Segment, batch: Batch) -> Segment:
    """The segment with its last map told of the batch."""
    plain = batch.per_batch_map is None and batch.pad_info is None
    rows = [op for op in segment.ops if op is not batch]
    last = max((i for i, op in enumerate(rows) if isinstance(op, Map)), default=None)
    if last is None or not plain or not isinstance(batch.batch_size, int) or not _positions_hold(rows):
        return segment
    ops = list(segment.ops)
    ops[last] = ops[last].replace(gather=batch.batch_size)
    return segment.replace(ops=tuple(ops))


def _positions_hold(ops: list[Node]) -> bool:
    return ops[0].addressable and all(op.keeps_rows for op in ops[1:])

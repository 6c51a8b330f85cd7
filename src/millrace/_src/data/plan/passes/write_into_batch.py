"""Write rows directly into the array of their batch.

Only for batches of a fixed size over a random-access source, if no op between drops rows: then the position of a row
determines its batch. The batch is in the same segment, or after a Rebatch; the latter only if workers share memory.
"""

from __future__ import annotations

from millrace._src.core.executor_traits import executor_traits
from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.order_ops import Batch, Map
from millrace._src.data.plan.nodes.physical import CachedRead, Rebatch, Segment

__all__ = ["write_segment_into_batch", "write_into_batch"]


def write_into_batch(root: Node, settings: Settings) -> Node:
    if settings.error_samples_mode != "return":  # a skipped row shifts all later rows
        return root

    def rule(node: Node) -> Node:
        if not isinstance(node, Segment):
            return node
        if isinstance(node.ops[-1], Batch) and node.batch_rows is not None:
            return _mark_segment(node, node.ops[-1])
        below = node.inputs[0] if node.inputs else None
        if isinstance(node.ops[0], Batch) and isinstance(below, Rebatch):
            rows = below.inputs[0]
            if isinstance(rows, Segment) and executor_traits(rows.placement.executor).shares_memory:
                return node.replace(inputs=(below.replace(inputs=(_mark_segment(rows, node.ops[0]),)),))
        return node

    return rewrite(root, rule)


def _mark_segment(segment: Segment, batch: Batch) -> Segment:
    """Mark the last map of each column in a segment to write into the batch."""
    plain = batch.per_batch_map is None and batch.pad_info is None
    rows = [op for op in segment.ops if op is not batch]
    if not plain or not isinstance(batch.batch_size, int) or not _keeps_positions(rows):
        return segment
    return write_segment_into_batch(segment, batch.batch_size)


def write_segment_into_batch(segment: Segment, rows: int) -> Segment:
    """Mark the last op of each column in a segment to write into batches of this many rows."""
    return segment.replace(
        ops=_mark_batch_writers(segment.ops, rows),
        fast_path_ops=_mark_batch_writers(segment.fast_path_ops, rows),
    )


def _mark_batch_writers(ops: tuple[Node, ...], rows: int) -> tuple[Node, ...]:
    marked = list(ops)
    later: set[str] | None = set()  # columns that a later op reads or writes; None: any
    for i in range(len(ops) - 1, -1, -1):
        op = ops[i]
        if isinstance(op, Map):
            columns = None if op.input_columns is None else {*op.input_columns, *(op.output_columns or ())}
            if later == set() or (later is not None and columns is not None and not later & columns):
                marked[i] = op.replace(batch_rows=rows)
            later = None if later is None or columns is None else later | columns
        elif isinstance(op, CachedRead):
            marked[i] = op if later != set() else op.replace(batch_rows=rows)
        elif not op.makes_batches and later:
            later = None  # columns may have other names before it
    return tuple(marked)


def _keeps_positions(ops: list[Node]) -> bool:
    return ops[0].random_access and all(op.preserves_rows for op in ops[1:])

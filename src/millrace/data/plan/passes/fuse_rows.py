"""Adjacent row-wise ops become one segment: one hand-over per chunk instead of one per op.

A batch joins the segment too when chunks can be cut along batch borders (a random-access source and nothing
between that drops rows): then stacking runs in parallel and no barrier is needed. Heavy rows (decoding) are
the exception: one batch should use all workers, so its rows travel in small chunks and are regrouped. Not so where
there are many processes: each makes batches of its own, which then cross to the user's process without a copy.
"""

from __future__ import annotations

from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite
from millrace.data.plan.ops import Batch, Read, Slice
from millrace.data.plan.physical import Regroup, Segment

from .spread import spreads

__all__ = ["fuse_rows"]

# Larger batches are made by all workers together: one alone would take too long, and hold too much.
MOST_ROWS = 256


def fuse_rows(root: Node, settings: Settings) -> Node:
    def rule(node: Node) -> Node:
        if isinstance(node, Batch):
            return _fuse_batch(node, settings)
        return _extend(node.inputs[0] if node.inputs else None, node, settings) if node.row_wise else node

    return rewrite(root, rule)


def _extend(below: Node | None, op: Node, settings: Settings) -> Segment:
    op = op.replace(inputs=())
    # where failed rows are replaced, each op that may fail ends its segment: the row that stands in is one of its own
    alone = settings.error_samples_mode == "replace" and op.may_fail
    if isinstance(below, Segment) and _agree(below, op) and not alone:
        return below.replace(ops=(*below.ops, op))
    return Segment(inputs=() if below is None else (below,), ops=(op,), op=op.op, where=op.where)


def _fuse_batch(node: Batch, settings: Settings) -> Node:
    below = node.inputs[0]
    if node.whole and isinstance(below, Segment):
        return _extend(below, node, settings)
    if isinstance(below, Segment) and _can_align(below, node, settings):
        size = node.batch_size
        assert isinstance(size, int)
        if node.drop_remainder:
            first = below.ops[0]
            assert isinstance(first, Read)
            cut = first.replace(steps=(*first.steps, Slice(multiple=size)))
            below = below.replace(ops=(cut, *below.ops[1:]))
        return _extend(below.replace(unit=size), node, settings)
    return Segment(
        inputs=(Regroup.before(node),), ops=(node.replace(inputs=()),), op=node.op, where=node.where
    )


def _can_align(segment: Segment, batch: Batch, settings: Settings) -> bool:
    if not isinstance(batch.batch_size, int) or not segment.ops[0].addressable:
        return False
    if not all(op.keeps_rows for op in segment.ops[1:]) or settings.error_samples_mode != "return":
        return False
    if settings.chunk_rows is not None and settings.chunk_rows % batch.batch_size:
        return False
    alone = not segment.heavy or (spreads(segment, settings) and batch.batch_size <= MOST_ROWS)
    return alone and _agree(segment, batch)


def _agree(segment: Segment, op: Node) -> bool:
    """Where both want to run: the user's code stays here, unless the user asked for processes."""
    wishes = {each.processes for each in (*segment.ops, op) if each.processes or each.user_code}
    return len(wishes) <= 1

"""Fuse transforms that are cheaper together: currently a Decode and the crops after it.

``Transform.join`` defines which transforms can be joined. The pass checks the operations of one map, and of the next
map if it works on the same column: the operations are then merged into one map. Every operation keeps its random key.
"""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.order_ops import Map
from millrace._src.data.plan.nodes.physical import Segment
from millrace._src.data.transforms.base import FusedTransform, Transform

__all__ = ["fuse_transforms", "fuse_operations"]


def fuse_transforms(root: Node, settings: Settings) -> Node:
    if settings.debug_mode:  # hooks see every operation
        return root

    def rule(node: Node) -> Node:
        if not isinstance(node, Segment):
            return node
        ops: list[Node] = []
        for op in node.ops:
            before = ops[-1] if ops else None
            if isinstance(op, Map) and isinstance(before, Map) and _may_merge(before, op):
                both = _merge_maps(before, op)
                if _spans_border(fuse_operations(both.operations, settings), len(before.operations)):
                    ops[-1] = both
                    continue
            ops.append(op)
        return node.replace(ops=tuple(_fuse_map(op, settings) if isinstance(op, Map) else op for op in ops))

    return rewrite(root, rule)


def _may_merge(first: Map, second: Map) -> bool:
    same = first.input_columns == second.input_columns and len(first.input_columns or ("one",)) == 1
    kept = all(op.output_columns in (None, op.input_columns) for op in (first, second))
    return same and kept and first.wants_processes == second.wants_processes


def _merge_maps(first: Map, second: Map) -> Map:
    workers = [op.num_workers for op in (first, second) if op.num_workers is not None]
    return first.replace(
        operations=first.operations + second.operations,
        random_keys=first.resolve_random_keys() + second.resolve_random_keys(),
        num_workers=max(workers, default=None),
    )


def fuse_operations(operations: tuple[Transform, ...], settings: Settings) -> list[Transform]:
    """Fuse the operations that can be joined."""
    fused: list[Transform] = []
    index = 0
    while index < len(operations):
        joined = operations[index].fuse(operations[index + 1 :], settings)
        fused.append(operations[index] if joined is None else joined)
        index += 1 if joined is None else len(joined.operations)
    return fused


def _spans_border(operations: list[Transform], border: int) -> bool:
    """Whether a joined transform has parts on both sides of the border."""
    index = 0
    for op in operations:
        count = len(op.operations) if isinstance(op, FusedTransform) else 1
        if index < border < index + count:
            return True
        index += count
    return False


def _fuse_map(op: Map, settings: Settings) -> Map:
    if len(op.input_columns or ("one",)) > 1:  # what joins works on one column
        return op
    fused = tuple(fuse_operations(op.operations, settings))
    return (
        op if fused == op.operations else op.replace(operations=fused, random_keys=op.resolve_random_keys())
    )

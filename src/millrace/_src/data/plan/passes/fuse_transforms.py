"""Transforms that do less work together become one: a Decode and the crops behind it, for now.

What can be joined the transforms say themselves (``Transform.join``). The operations of one map are looked at, and
those of the next one where it works on the same column: there the operations move into one map. Every operation keeps
the key of its random numbers.
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
                both = _merged(before, op)
                if _crosses(fuse_operations(both.operations, settings), len(before.operations)):
                    ops[-1] = both
                    continue
            ops.append(op)
        return node.replace(ops=tuple(_join(op, settings) if isinstance(op, Map) else op for op in ops))

    return rewrite(root, rule)


def _may_merge(first: Map, second: Map) -> bool:
    same = first.input_columns == second.input_columns and len(first.input_columns or ("one",)) == 1
    kept = all(op.output_columns in (None, op.input_columns) for op in (first, second))
    return same and kept and first.wants_processes == second.wants_processes


def _merged(first: Map, second: Map) -> Map:
    workers = [op.num_workers for op in (first, second) if op.num_workers is not None]
    return first.replace(
        operations=first.operations + second.operations,
        keys=first.resolve_random_keys() + second.resolve_random_keys(),
        workers=max(workers, default=None),
    )


def fuse_operations(operations: tuple[Transform, ...], settings: Settings) -> list[Transform]:
    """The operations, with those that can be one as one."""
    made: list[Transform] = []
    at = 0
    while at < len(operations):
        joined = operations[at].fuse(operations[at + 1 :], settings)
        made.append(operations[at] if joined is None else joined)
        at += 1 if joined is None else len(joined.operations)
    return made


def _crosses(operations: list[Transform], border: int) -> bool:
    """Whether a joined transform has parts on both sides of the border."""
    at = 0
    for op in operations:
        count = len(op.operations) if isinstance(op, FusedTransform) else 1
        if at < border < at + count:
            return True
        at += count
    return False


def _join(op: Map, settings: Settings) -> Map:
    if len(op.input_columns or ("one",)) > 1:  # what joins works on one column
        return op
    made = tuple(fuse_operations(op.operations, settings))
    return op if made == op.operations else op.replace(operations=made, keys=op.resolve_random_keys())

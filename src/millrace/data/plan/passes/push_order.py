"""Shuffle, skip and take become index arithmetic in the source, where every op between keeps the rows.

A shuffle over maps over a random-access source is a permutation of integers: a true shuffle, no buffer, and a
state of one number. Where a row may vanish on the way (an error mode that skips), skip and take stay put,
since they count the rows that are left.
"""

from __future__ import annotations

from millrace.core.settings import Settings
from millrace.data.plan.node import Node, rewrite
from millrace.data.plan.ops import Map, Permute, Project, Read, Rename, Shuffle, Skip, Slice, Take
from millrace.data.plan.read import OrderStep

__all__ = ["push_order"]


def push_order(root: Node, settings: Settings) -> Node:
    loses_rows = settings.error_samples_mode != "return"

    def rule(node: Node) -> Node:
        step: OrderStep
        if isinstance(node, Shuffle):
            step = Permute(op=node.op, key=node.key)
        elif isinstance(node, Skip) and not loses_rows:
            step = Slice(skip=node.count)
        elif isinstance(node, Take) and not loses_rows:
            step = Slice(take=node.count)
        else:
            return node
        pushed = _push(node.inputs[0], step)
        return node if pushed is None else pushed

    return rewrite(root, rule)


def _push(node: Node, step: OrderStep) -> Node | None:
    """The tree with the step added to its source's order, or None where that is not legal."""
    if isinstance(node, Read):
        addressable = node.source.random_access and node.batch_sampler is None
        return node.replace(steps=(*node.steps, step)) if addressable else None
    if isinstance(node, (Map, Project, Rename)):
        if isinstance(node, Map) and node.callbacks:
            return None  # callbacks count the rows that pass this map
        below = _push(node.inputs[0], step)
        return None if below is None else node.replace(inputs=(below,))
    return None

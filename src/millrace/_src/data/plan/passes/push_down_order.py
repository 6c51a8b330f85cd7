"""Push shuffle, skip and take down to index arithmetic in the source, if every op between preserves the rows.

A shuffle over maps over a random-access source is a permutation of integers: a true shuffle, no buffer, and a
state of one number. Where that is not possible (over a stream, a filter, a concatenation), a skip at least moves below
the ops that compute each row or batch from a fixed number of rows: skipped rows are not computed. If a row may be
dropped (an error mode that skips), skip and take do not move, since they count the remaining rows.
"""

from __future__ import annotations

from millrace._src.core.settings import Settings
from millrace._src.data.plan.node import Node, rewrite
from millrace._src.data.plan.nodes.read import Read
from millrace._src.data.plan.order_steps import OrderStep, SliceStep

__all__ = ["push_down_order"]


def push_down_order(root: Node, settings: Settings) -> Node:
    loses_rows = settings.error_samples_mode != "return"

    def rule(node: Node) -> Node:
        step = node.order_step()
        if step is None or (loses_rows and not node.preserves_rows):
            return node
        pushed = _push(node.inputs[0], step)
        if pushed is not None:
            return pushed
        above = node.inputs[0]
        rows = above.input_rows_for(step.skip) if isinstance(step, SliceStep) and step.take is None else None
        if rows is None:
            return node
        return above.replace(inputs=(rule(node.replace(count=rows, inputs=above.inputs)),))

    return rewrite(root, rule)


def _push(node: Node, step: OrderStep) -> Node | None:
    """The tree with the step added to the order of its source; None where that is not possible."""
    if isinstance(node, Read):
        return node.replace(order_steps=(*node.order_steps, step)) if node.random_access else None
    if node.row_wise and node.preserves_rows and node.preserves_order:
        below = _push(node.inputs[0], step)
        return None if below is None else node.replace(inputs=(below,))
    return None

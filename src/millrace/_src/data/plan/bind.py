"""bind: from the user's tree to a plan that passes may rewrite.

Ops are numbered here, once, over the tree as the user wrote it (inputs first, so that appending an op leaves
the numbers below it alone). Passes keep the numbers: fusing or moving an op never changes its random numbers.
A node reachable twice becomes two nodes, so a shared prefix behaves as if it had been built twice.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from millrace._src.core.errors import PlanError
from millrace._src.core.random.rng import fresh_seed
from millrace._src.core.settings import DEFAULT_SEED, Settings
from millrace._src.core.values.offload import OffloadPlan

from .fingerprint.plan_fingerprint import Fingerprint, compute_fingerprint
from .node import Node, schema_of, walk
from .nodes.order_ops import Batch, BucketBatch, Cache, Read, Repeat, Shard
from .passes import PASSES
from .passes.offload_to_device import offload_to_device

__all__ = ["Plan", "bind", "optimize", "resolve_seed"]


@dataclasses.dataclass(frozen=True)
class Plan:
    """A numbered tree with the settings and the seed it runs under; ``history`` keeps it after each pass."""

    root: Node
    settings: Settings
    seed: int
    history: tuple[tuple[str, Node], ...] = ()
    # what a card does behind the batches, where they go to one
    device_work: OffloadPlan | None = None

    @property
    def logical(self) -> Node:
        """The tree as the user wrote it."""
        return self.history[0][1] if self.history else self.root

    def fingerprint(self) -> Fingerprint:
        """What decides which rows come in which order."""
        return compute_fingerprint(self.logical, self.settings)


def bind(root: Node, settings: Settings, seed: int | None = None) -> Plan:
    """Number the ops, check the columns, and fix the seed."""
    counter = itertools.count(1)
    numbered = _number(root, counter, passes=1)
    schema_of(numbered)  # unknown columns are found here, before any row is read
    if seed is None:
        seed = resolve_seed(numbered, settings)
    return Plan(numbered, settings, seed, history=(("as written", numbered),))


def resolve_seed(root: Node, settings: Settings) -> int:
    """The user's seed, or one for this run."""
    return _fresh_seed(root) if settings.seed is None else settings.seed


def _fresh_seed(root: Node) -> int:
    """Another seed for each run; but shards are read by several processes that must agree on one order."""
    for node in walk(root):
        if isinstance(node, Shard) or (
            isinstance(node, Read) and node.sampler is not None and node.sampler.is_sharded()
        ):
            return DEFAULT_SEED
    return fresh_seed()


def _number(node: Node, counter: Iterator[int], passes: int, batch_rows: int = 1) -> Node:
    below, rows_below = passes, batch_rows
    if isinstance(node, Repeat):
        # an endless repeat has no epochs above it: each pass counts as one
        below = 1 if node.count is None else passes * node.count
    if isinstance(node, Batch):
        rows_below = node.batch_size if isinstance(node.batch_size, int) else 1
    elif isinstance(node, BucketBatch):
        rows_below = 1
    inputs = tuple(_number(child, counter, below, rows_below) for child in node.inputs)
    if isinstance(node, Cache):  # no number of its own: with and without it, those above draw the same
        return node.replace(inputs=inputs, op_id=inputs[0].op_id, logical_input=inputs[0])
    node = node.replace(inputs=inputs, op_id=next(counter)).with_context(passes, batch_rows)
    if node.inline_cache is not None:
        plain = node.replace(cache=None)
        return Cache(
            inputs=(plain,),
            op_id=node.op_id,
            call_site=node.call_site,
            cache=node.inline_cache,
            logical_input=plain,
        )
    return node


def optimize(plan: Plan, for_device: bool = False) -> Plan:
    """Run every pass in its order; the tree after each is kept for explain(). ``card``: batches go to one."""
    root, history = plan.root, list(plan.history)
    work = None
    if for_device:
        root, work = offload_to_device(root, plan.settings)
        history.append(("move to the card", root))
    for name, apply in PASSES:
        root = apply(root, plan.settings)
        history.append((name, root))
    return dataclasses.replace(plan, root=root, history=tuple(history), device_work=work)


def tree_after_pass(plan: Plan, name: str | None) -> Node:
    """The tree after the named pass, or the last one."""
    if name is None:
        return plan.history[-1][1]
    for stage, root in plan.history:
        if stage == name:
            return root
    raise PlanError(f"there is no pass {name!r}; the passes are {[n for n, _ in plan.history]}")

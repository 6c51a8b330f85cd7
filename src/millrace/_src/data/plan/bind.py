"""Bind a tree of nodes to a plan that passes may rewrite.

Ops are numbered here, once, over the tree as the user wrote it (inputs first, so that appending an op does not change
the numbers below it). Passes keep the numbers: fusing or moving an op never changes its random numbers.
A node that is reachable twice becomes two nodes, so a shared prefix behaves as if it had been built twice.
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
    """A numbered tree with its settings and seed; ``history`` has the tree after each pass."""

    root: Node
    settings: Settings
    seed: int
    history: tuple[tuple[str, Node], ...] = ()
    # the work of the device after batching, where batches go to one
    device_work: OffloadPlan | None = None

    @property
    def logical(self) -> Node:
        """The tree as the user wrote it."""
        return self.history[0][1] if self.history else self.root

    def fingerprint(self) -> Fingerprint:
        """The identity of the plan: everything that determines the rows and their order."""
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
    """A new seed for each run; sharded pipelines use the default seed, because all processes need the same order."""
    for node in walk(root):
        if isinstance(node, Shard) or (
            isinstance(node, Read) and node.sampler is not None and node.sampler.is_sharded()
        ):
            return DEFAULT_SEED
    return fresh_seed()


def _number(node: Node, counter: Iterator[int], passes: int, batch_rows: int = 1) -> Node:
    below, rows_below = passes, batch_rows
    if isinstance(node, Repeat):
        # an endless repeat never ends an epoch: each pass counts as one
        below = 1 if node.count is None else passes * node.count
    if isinstance(node, Batch):
        rows_below = node.batch_size if isinstance(node.batch_size, int) else 1
    elif isinstance(node, BucketBatch):
        rows_below = 1
    inputs = tuple(_number(child, counter, below, rows_below) for child in node.inputs)
    if isinstance(
        node, Cache
    ):  # it has no separate number: ops above have the same random numbers without it
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
    """Run all passes; the tree after each is kept for explain(). ``for_device``: batches go to a device."""
    root, history = plan.root, list(plan.history)
    work = None
    if for_device:
        root, work = offload_to_device(root, plan.settings)
        history.append(("offload to device", root))
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

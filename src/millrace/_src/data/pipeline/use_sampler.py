"""Samplers for parts of a split and for concatenations."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.log import warn_once
from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, hash_integers
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.plan.node import Node, call_site, rewrite, size_of
from millrace._src.data.plan.nodes import order_ops as ops
from millrace._src.data.samplers.base import SAMPLER_TYPES, BuiltinSampler, LabelProvider

__all__ = ["FixedOrderSampler", "inner_sampler", "fix_random_order", "apply_sampler_to_concat"]

WHOLE_WINDOW = 1 << 31


@stable_id("sampler.Fixed")
class FixedOrderSampler(BuiltinSampler):
    """The order of another sampler with a fixed key, or a part of it: the same in every epoch, run and process.

    ``permute`` shuffles the whole order before the part is selected, so that parts with the same key
    are disjoint and together are complete.

    >>> from millrace._src.data.samplers import SequentialSampler
    >>> parts = [FixedOrderSampler(SequentialSampler(), 7, permute=True, start=s, rows=2) for s in (0, 2)]
    >>> sorted(row for part in parts for row in part.order(4, key=1).at(0, 2).tolist())
    [0, 1, 2, 3]
    """

    _fields: ClassVar[tuple[str, ...]] = ("whole", "fixed_key", "permute", "start", "rows")

    def __init__(
        self,
        whole: BuiltinSampler,
        fixed_key: int,
        permute: bool = False,
        start: int = 0,
        rows: int | None = None,
    ) -> None:
        super().__init__()
        self.whole, self.fixed_key, self.permute, self.start, self.rows = (
            whole,
            fixed_key,
            permute,
            start,
            rows,
        )

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        order = self.whole.copy_for_run().order(size, self.fixed_key, labels)
        if self.permute:
            order = ComposedOrder(RandomPermutation(order.size, hash_integers(self.fixed_key, 1)), order)
        rows = order.size if self.rows is None else self.rows
        return ComposedOrder(RangeOrder(rows, start=self.start), order)

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        return self.whole.count(size, labels) if self.rows is None else self.rows

    @property
    def class_column(self) -> str:
        return self.whole.class_column

    def is_shuffled(self) -> bool:
        return self.permute or self.whole.is_shuffled()

    def is_sharded(self) -> bool:
        return self.whole.is_sharded()

    def to_dict(self) -> dict[str, Any]:
        """Describe a part in MindSpore's format: rows of a random order that never changes."""
        description: dict[str, Any] = self.whole.to_dict()
        if self.permute:
            permutation = {"sampler_name": "RandomSampler", "replacement": False, "num_samples": 0}
            permutation |= {"reshuffle_each_epoch": False, "fixed_key": hash_integers(self.fixed_key, 1)}
            description = permutation | {"child_sampler": [description]}
        rows = {"sampler_name": "SequentialSampler", "start_index": self.start, "num_samples": self.rows or 0}
        return rows | {"child_sampler": [description]}


def fix_random_order(root: Node, key: int) -> Node:
    """The tree with every random order fixed by this key."""
    numbers = itertools.count(1)

    def rule(node: Node) -> Node:
        if isinstance(node, ops.Shuffle) and node.key is None:
            return node.replace(key=hash_integers(key, next(numbers)))
        if isinstance(node, ops.Read) and node.sampler is not None and node.sampler.is_shuffled():
            return node.replace(sampler=FixedOrderSampler(node.sampler, hash_integers(key, next(numbers))))
        return node

    return rewrite(root, rule)


def apply_sampler_to_concat(concat: ops.Concat, sampler: Any) -> Node:
    """Shard or shuffle a concatenation; other samplers are not supported for several sources."""
    if isinstance(sampler, SAMPLER_TYPES["DistributedSampler"]):
        return _shard_concat(concat, sampler)
    if isinstance(sampler, SAMPLER_TYPES["RandomSampler"]):
        return _shuffle_concat(concat, sampler)
    raise ArgumentTypeError(f"The parameter {sampler} of concat must be DistributedSampler or RandomSampler!")


def _shard_concat(concat: ops.Concat, sampler: Any) -> Node:
    if sampler.get_shuffle_mode().value != "false":
        raise ArgumentValueError("The parameter shuffle of DistributedSampler must be False!")
    if sampler.num_shards <= 0:
        raise ArgumentValueError("The parameter num_shards of DistributedSampler must be positive int!")
    if sampler.get_num_samples() is not None:
        raise ArgumentValueError("The parameter num_samples of DistributedSampler is not support to be set!")
    for part in concat.inputs:
        if isinstance(part, ops.Read) and part.sampler is not None and part.sampler.get_num_samples():
            raise ArgumentValueError(
                f"The parameter NumSamples of {part.label} is not support to be set! "
                "Cut it with .take(count) instead."
            )
    shards, before, parts = sampler.num_shards, 0, []
    for part in concat.inputs:
        size = size_of(part)
        if size is None:  # later parts can only be sharded as a stream
            return ops.Shard(
                inputs=(concat,),
                call_site=call_site(),
                shards=shards,
                shard=sampler.shard_id,
                pad_to_equal=False,
            )
        parts.append(_shard_part(part, sampler, before % shards))
        before += int(size)
    return concat.replace(inputs=tuple(parts))


def _shard_part(part: Node, sampler: Any, offset: int) -> Node:
    """Shard one part of a concatenation that starts at round-robin position ``offset``."""
    shards, shard = sampler.num_shards, sampler.shard_id
    read = part if isinstance(part, ops.Read) and part.source.random_access else None
    if read is None or read.source.concat_shard == "own":
        return ops.Shard(
            inputs=(part,),
            call_site=call_site(),
            shards=shards,
            shard=(shard - offset) % shards,
            pad_to_equal=False,
        )
    strided = type(sampler)(shards, shard, shuffle=False, offset=offset, even_dist=False)
    shard_sampler: BuiltinSampler = strided.as_contiguous() if read.source.concat_shard == "run" else strided
    if read.sampler is not None and read.sampler.is_shuffled():
        warn_once(
            "concat-shuffle",
            f"use_sampler() on a concatenation replaces the samplers of its sources, as in MindSpore: the rows of "
            f"{read.label} now come in their order, not shuffled. .shuffle(buffer_size) after it shuffles them again "
            "(logged once)",
        )
    below = inner_sampler(read.sampler)
    if below is not None:
        shard_sampler.add_child(below)
    return read.replace(sampler=shard_sampler)


def inner_sampler(present: BuiltinSampler | None) -> BuiltinSampler | None:
    """The child for a sampler that replaces the present one: its child, or the rows of a part of a split."""
    return present if isinstance(present, FixedOrderSampler) or present is None else present.get_child()


def _shuffle_concat(concat: ops.Concat, sampler: Any) -> Node:
    if sampler.replacement:
        raise ArgumentValueError("The parameter replacement of RandomSampler must be False!")
    if sampler.get_num_samples() is not None:
        raise ArgumentValueError("The parameter num_samples of RandomSampler is not support to be set!")
    size = size_of(concat)
    rows = int(size) if size is not None and size < WHOLE_WINDOW else WHOLE_WINDOW
    return ops.Shuffle(inputs=(concat,), call_site=call_site(), buffer_size=max(2, rows))

"""DistributedSampler: one shard of the rows for each of several devices."""

from __future__ import annotations

from typing import Any, ClassVar

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, RangeOrder
from millrace._src.core.random.rng import RandomPermutation
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.core.stable_ids import stable_id

from .argument_types import check_integer
from .base import BuiltinSampler, LabelProvider
from .random import MODES, check_global, mode_of

__all__ = ["DistributedSampler"]


@public("dataset")
class DistributedSampler(BuiltinSampler, ours=True):
    """Every ``num_shards``-th row, starting at ``shard_id``.

    All shards use the same shuffle (the key must be the same: the caller must not choose a seed per process), so
    they are disjoint and together cover the rows. They also have equal length:
    if the rows do not divide evenly, the last shards are padded with the first rows (``padding`` returns how
    many). With an ``offset`` from 0 to ``num_shards`` no row is repeated, and the first row goes to shard
    ``offset``; a shard that would then be empty gets the first row. ``even_dist=False`` never repeats a row.

    >>> [DistributedSampler(3, k, shuffle=False).order(5, key=0).at(0, 9).tolist() for k in range(3)]
    [[0, 3], [1, 4], [2, 0]]
    >>> [DistributedSampler(3, k, False, offset=1).order(7, key=0).at(0, 9).tolist() for k in range(3)]
    [[2, 5], [0, 3, 6], [1, 4]]
    """

    _fields: ClassVar[tuple[str, ...]] = (
        "num_shards", "shard_id", "shuffle", "num_samples", "offset", "even_dist",
    )  # fmt: skip

    @checks_names_only
    def __init__(
        self,
        num_shards: int,
        shard_id: int,
        shuffle: bool | Shuffle = True,
        num_samples: int | None = None,
        offset: int = -1,
        *,
        even_dist: bool = True,
    ) -> None:
        check_integer(num_shards, "num_shards")
        check_integer(shard_id, "shard_id")
        if not isinstance(shuffle, (bool, Shuffle)):
            raise ArgumentTypeError(
                f"shuffle must be a boolean value or valid shuffle mode but was: {shuffle}."
            )
        check_integer(offset, "offset")
        self.num_shards = num_shards
        self.shard_id = shard_id
        if isinstance(shuffle, bool):
            shuffle = Shuffle.GLOBAL if shuffle else Shuffle.FALSE
        self.shuffle: Shuffle = shuffle
        self.offset = offset
        self.even_dist = even_dist
        super().__init__(num_samples)

    def set_offset(self, offset: int) -> DistributedSampler:
        """Change the offset, and return the sampler itself.

        >>> DistributedSampler(3, 0, shuffle=False).set_offset(1).order(7, key=0).at(0, 9).tolist()
        [2, 5]
        """
        check_integer(offset, "offset")
        self.offset = offset
        return self

    def padding(self, size: int) -> int:
        """The number of repeated rows in all shards, which make them equally long.

        >>> DistributedSampler(3, 0).padding(5)
        1
        """
        self._check()
        counts = [self._shard_range(size, shard)[1] for shard in range(self.num_shards)]
        return sum(counts) - size

    def shard_padding(self, size: int) -> int:
        """The number of repeated rows in this shard.

        >>> [DistributedSampler(3, shard).shard_padding(5) for shard in range(3)]
        [0, 0, 1]
        """
        if self.offset != -1:
            return 0
        return max(0, self._count(size, None) - len(range(self.shard_id, size, self.num_shards)))

    def _check(self) -> None:
        prefix, shards = "DistributedSampler: ", self.num_shards
        if shards <= 0:
            raise PlanError(f"{prefix}num_shards must be greater than 0, but got: {shards}")
        if not 0 <= self.shard_id < shards:
            raise PlanError(f"{prefix}shard_id must be in range [0, {shards}), but got: {self.shard_id}")
        if self.offset > shards:
            raise PlanError(
                f"{prefix}offset must be no more than num_shards({shards}), but got: {self.offset}"
            )
        if self.offset < -1:  # MindSpore loses rows here without a word
            raise PlanError(f"{prefix}offset must be -1 or in range [0, {shards}], but got: {self.offset}")

    def _shard_range(self, size: int, shard: int, lend_empty: bool = True) -> tuple[int, int]:
        """First position and number of rows of a shard, before num_samples; ``lent``: one without any is lent one."""
        if size <= 0:
            return 0, 0
        shards = self.num_shards
        if self.offset == -1 and self.even_dist:
            return shard, -(-size // shards)
        start = shard if self.offset == -1 else (shard - self.offset) % shards
        count = max(0, -(-(size - start) // shards))
        # a device without rows would wait for the others: an empty shard gets the first row
        return (start, count) if count or not self.even_dist or not lend_empty else (0, 1)

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        self._check()
        count = self._shard_range(size, self.shard_id)[1]
        return min(self.num_samples, count) if self.num_samples else count

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        check_global(self.shuffle)
        count = self._count(size, labels)
        start = self._shard_range(size, self.shard_id)[0]
        indices = RangeOrder(count, start=start, step=self.num_shards, modulo=max(1, size))
        return (
            ComposedOrder(indices, RandomPermutation(size, key))
            if self.shuffle is not Shuffle.FALSE
            else indices
        )

    def as_contiguous(self) -> BuiltinSampler:
        """A shard with the same number of rows, but contiguous: MindSpore shards record files like this in a
        concatenation, and with an offset.

        >>> [
        ...     DistributedSampler(3, k, False, offset=1).as_contiguous().order(7, 0).at(0, 9).tolist()
        ...     for k in range(3)
        ... ]
        [[0, 1], [2, 3, 4], [5, 6]]
        """
        return _ContiguousShard(self)

    def get_shuffle_mode(self) -> Shuffle:
        return self.shuffle

    def is_shuffled(self) -> bool:
        return self.shuffle is not Shuffle.FALSE or self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self.num_shards > 1 or self._child_predicate("is_sharded")

    def to_dict(self) -> dict[str, Any]:
        description = super().to_dict()
        description["shuffle_mode"] = MODES.index(description.pop("shuffle"))
        return description

    @classmethod
    def _from_dict(cls, values: Any) -> DistributedSampler:
        return cls(
            values.get("num_shards"),
            values.get("shard_id"),
            mode_of(values),
            values.get("num_samples") or None,
            values.get("offset", -1),
            even_dist=bool(values.get("even_dist", True)),
        )


@stable_id("sampler.DistributedRun")
class _ContiguousShard(BuiltinSampler):
    """One contiguous range of rows per shard, in the order of the shards."""

    _fields: ClassVar[tuple[str, ...]] = ("dealt",)

    def __init__(self, dealt: DistributedSampler) -> None:
        super().__init__()
        self.dealt = dealt

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        self.dealt._check()
        count = self._shard_size(size, self.dealt.shard_id)
        return min(count, self.dealt.num_samples or count)

    def _shard_size(self, size: int, shard: int) -> int:
        return self.dealt._shard_range(size, shard, lend_empty=False)[1]

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        start = sum(self._shard_size(size, shard) for shard in range(self.dealt.shard_id))
        return RangeOrder(self._count(size, labels), start=start)

    def is_shuffled(self) -> bool:
        return self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self.dealt.is_sharded() or self._child_predicate("is_sharded")

    def to_dict(self) -> dict[str, Any]:
        return self.dealt.to_dict()

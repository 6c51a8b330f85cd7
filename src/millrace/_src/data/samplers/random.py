"""RandomSampler: rows in random order, or sampled with replacement."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, Indices, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, RandomStream
from millrace._src.core.random.shuffle import Shuffle

from .argument_types import check_bool
from .base import BuiltinSampler, LabelProvider

__all__ = ["RandomSampler"]


@public("dataset")
class RandomSampler(BuiltinSampler, ours=True):
    """A random permutation of the rows, or rows sampled with replacement; at most the number of rows.

    >>> order = RandomSampler().order(4, key=1)
    >>> sorted(order.at(0, 4).tolist())
    [0, 1, 2, 3]
    >>> RandomSampler(replacement=True, num_samples=2).count(4)
    2
    """

    _fields: ClassVar[tuple[str, ...]] = ("replacement", "num_samples", "shuffle", "fixed_key")

    @checks_names_only
    def __init__(
        self,
        replacement: bool = False,
        num_samples: int | None = None,
        shuffle: Shuffle = Shuffle.GLOBAL,
    ) -> None:
        check_bool(replacement, "replacement")
        if not isinstance(shuffle, Shuffle) or shuffle is Shuffle.FALSE:
            raise ArgumentTypeError(f"shuffle must be valid shuffle mode but was: {shuffle}.")
        self.replacement = replacement
        self.shuffle = shuffle
        self.fixed_key: int | None = None
        super().__init__(num_samples)

    @property
    def reshuffle_each_epoch(self) -> bool:
        """Whether every epoch has a different order."""
        return self.fixed_key is None

    def fixed(self, key: int) -> RandomSampler:
        """A copy with the same order for every key, and therefore in every epoch.

        >>> sampler = RandomSampler().fixed(3)
        >>> bool((sampler.order(9, key=1).at(0, 9) == sampler.order(9, key=2).at(0, 9)).all())
        True
        """
        duplicate = copy.copy(self)
        duplicate.fixed_key = int(key)
        return duplicate

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        check_global(self.shuffle)
        key = key if self.fixed_key is None else self.fixed_key
        count = self._count(size, labels)
        if self.replacement:
            return ReplacementOrder(count, size, key)
        order = RandomPermutation(size, key)
        return order if count == size else ComposedOrder(RangeOrder(count), order)

    def get_shuffle_mode(self) -> Shuffle:
        return self.shuffle

    def is_shuffled(self) -> bool:
        return True

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")

    def to_dict(self) -> dict[str, Any]:
        description = super().to_dict() | {"reshuffle_each_epoch": self.reshuffle_each_epoch}
        description["shuffle_mode"] = MODES.index(description.pop("shuffle"))
        if self.fixed_key is None:
            del description["fixed_key"]
        return description

    @classmethod
    def _from_dict(cls, values: Any) -> RandomSampler:
        sampler = cls(values.get("replacement", False), values.get("num_samples") or None, mode_of(values))
        fixed = values.get("fixed_key")
        return sampler if fixed is None else sampler.fixed(fixed)


# The numbers MindSpore's JSON uses for the first four; the rest follow in our order.
MODES = ["false", "files", "global", "infile", "partial", "adaptive"]


def mode_of(values: Any) -> Shuffle:
    """The shuffle mode in the JSON of a sampler."""
    number = values.get("shuffle_mode", MODES.index("global"))
    if not isinstance(number, int) or not 0 <= number < len(MODES):
        raise ArgumentTypeError(f"shuffle_mode must be in [0, {len(MODES) - 1}], but got {number!r}")
    return Shuffle(MODES[number])


def check_global(mode: Shuffle) -> None:
    """Raise for the modes of record files; their reader handles them before."""
    if mode not in (Shuffle.GLOBAL, Shuffle.FALSE):
        raise PlanError(f"The shuffle mode: {mode} is not supported with current dataset.")


class ReplacementOrder:
    """``size`` row numbers, sampled independently from ``range(rows)``.

    >>> order = ReplacementOrder(1000, rows=3, key=5)
    >>> sorted(set(order.at(0, 1000).tolist()))
    [0, 1, 2]
    """

    def __init__(self, size: int, rows: int, key: int) -> None:
        self.size = size if rows else 0
        self.rows, self.key = rows, key

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        return random_at(positions, self.key).integers(0, 0, self.rows) if len(positions) else positions


def random_at(positions: Indices, key: int) -> RandomStream:
    """Random numbers for positions in an order."""
    return RandomStream.for_rows(positions.astype(np.uint64), seed=key, epoch=0, op=0)

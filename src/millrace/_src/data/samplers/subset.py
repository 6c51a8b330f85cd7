"""SubsetSampler and SubsetRandomSampler: rows from a list of row numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ArrayOrder, ComposedOrder, IndexOrder
from millrace._src.core.random.rng import RandomPermutation
from millrace._src.core.random.shuffle import Shuffle

from .argument_types import check_rows
from .base import BuiltinSampler, LabelProvider

__all__ = ["SubsetRandomSampler", "SubsetSampler"]


@public("dataset")
class SubsetSampler(BuiltinSampler, ours=True):
    """The rows of a list, in its order; a row may occur more than once.

    >>> SubsetSampler([4, 0, 0], num_samples=2).order(5, key=0).at(0, 9).tolist()
    [4, 0]
    """

    _fields: ClassVar[tuple[str, ...]] = ("indices", "num_samples")

    @checks_names_only
    def __init__(self, indices: Iterable[int] | int, num_samples: int | None = None) -> None:
        self.indices = _as_indices(indices)
        super().__init__(num_samples)

    def _limit(self) -> int | None:
        limit = len(self.indices)
        return limit if self.num_samples is None else min(limit, self.num_samples)

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        if not self.indices:
            raise PlanError(f"{type(self).__name__}: indices must hold at least one row number, but is empty")
        return min(self.num_samples, len(self.indices)) if self.num_samples else len(self.indices)

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        rows = np.asarray(self.indices[: self._count(size, labels)], dtype=np.int64)
        check_rows(rows, size)
        return ArrayOrder(rows)

    def is_shuffled(self) -> bool:
        return self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")


@public("dataset")
class SubsetRandomSampler(SubsetSampler, ours=True):
    """The rows of a list, in random order. ``num_samples`` keeps the first of the list, as MindSpore does.

    >>> order = SubsetRandomSampler([7, 8, 9]).order(10, key=3)
    >>> sorted(order.at(0, 3).tolist())
    [7, 8, 9]
    """

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        rows = super()._order(size, key, labels)
        return ComposedOrder(RandomPermutation(rows.size, key), rows)

    def get_shuffle_mode(self) -> Shuffle:
        return Shuffle.GLOBAL

    def is_shuffled(self) -> bool:
        return True


def _as_indices(indices: Any) -> list[int]:
    if isinstance(indices, int):
        return [indices]
    if isinstance(indices, str) or not isinstance(indices, Iterable):
        raise ArgumentTypeError(f"Unsupported sampler object of type ({type(indices)})")
    if isinstance(indices, np.ndarray) and indices.ndim == 1 and indices.dtype.kind in "iu":
        return list(map(int, indices))
    items = list(indices)
    for i, item in enumerate(items):
        if not isinstance(item, (int, np.integer)):
            raise ArgumentTypeError(
                "SubsetSampler: Type of indices element must be int, "
                f"but got list[{i}]: {item}, type: {type(item)}."
            )
    return [int(item) for item in items]

"""SequentialSampler: rows in the order of the source."""

from __future__ import annotations

import copy
from typing import ClassVar

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import IndexOrder, RangeOrder

from .argument_types import check_integer
from .base import BuiltinSampler, LabelProvider

__all__ = ["SequentialSampler"]


@public("dataset")
class SequentialSampler(BuiltinSampler, ours=True):
    """Rows ``start_index``, ``start_index + 1`` ... ; ``num_samples`` of them, or to the end.

    >>> SequentialSampler(start_index=2, num_samples=2).order(5, key=0).at(0, 9).tolist()
    [2, 3]
    """

    _fields: ClassVar[tuple[str, ...]] = ("start_index", "num_samples")

    @checks_names_only
    def __init__(self, start_index: int | None = None, num_samples: int | None = None) -> None:
        if start_index is not None:
            check_integer(start_index, "start_index")
        self.start_index = start_index
        super().__init__(num_samples)

    # whether a start index beyond the last row gives no rows; else it is an error
    _allows_empty = False

    def allow_empty(self) -> SequentialSampler:
        """A copy for which a start index beyond the last row gives no rows, as in MindSpore for record files.

        >>> SequentialSampler(7).allow_empty().order(5, key=0).size
        0
        """
        duplicate = copy.copy(self)
        duplicate._allows_empty = True
        return duplicate

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        start = self.start_index or 0
        if start < 0:
            raise PlanError(
                f"SequentialSampler: start_index_ must be greater than or equal to 0, but got: {start}"
            )
        if self._allows_empty:
            start = min(start, size)
        elif start >= size and start > 0:  # an empty source is not an error of the sampler
            raise PlanError(
                "Invalid parameter, start_index must be less than num_rows, "
                f"but got start_index: {start}, num_rows: {size}."
            )
        return min(self.num_samples, size - start) if self.num_samples else size - start

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        return RangeOrder(self._count(size, labels), start=self.start_index or 0)

    def is_shuffled(self) -> bool:
        return self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")

    def to_dict(self) -> dict[str, object]:
        return super().to_dict() | {"start_index": self.start_index or 0}

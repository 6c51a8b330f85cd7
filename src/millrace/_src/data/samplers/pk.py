"""PKSampler: a number of rows from every class."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ComposedOrder, IndexOrder, Indices, RangeOrder
from millrace._src.core.random.rng import RandomPermutation, hash_integers

from .argument_types import check_bool, check_integer
from .base import BuiltinSampler, LabelProvider
from .random import random_at

__all__ = ["PKSampler"]


@public("dataset")
class PKSampler(BuiltinSampler, ours=True):
    """``num_val`` rows of every class, sampled with replacement, class after class.

    ``shuffle`` shuffles the classes. The classes are the values of ``class_column``.

    >>> import numpy as np
    >>> order = PKSampler(2).order(4, key=1, labels=lambda: np.array([7, 5, 5, 7]))
    >>> [row in (1, 2) for row in order.at(0, 4).tolist()]
    [True, True, False, False]
    """

    _fields: ClassVar[tuple[str, ...]] = ("num_val", "num_samples", "shuffle", "class_column")
    _needs_labels: ClassVar[bool] = True

    @checks_names_only
    def __init__(
        self,
        num_val: int,
        num_class: int | None = None,
        shuffle: bool = False,
        class_column: str = "label",
        num_samples: int | None = None,
    ) -> None:
        check_integer(num_val, "num_val")
        if num_class is not None:
            raise NotImplementedError("Not supported to specify num_class for PKSampler.")
        check_bool(shuffle, "shuffle")
        if not isinstance(class_column, str):
            raise ArgumentTypeError(f"class_column must be a str value but was: {class_column}.")
        self.num_val = num_val
        self.shuffle = shuffle
        self._class_column = class_column
        super().__init__(num_samples)

    @property
    def class_column(self) -> str:
        return self._class_column

    def _classes(self, size: int, labels: LabelProvider | None) -> npt.NDArray[Any]:
        """The class label of every row, after checking the shape."""
        if self.num_val <= 0:
            raise PlanError(f"PKSampler: num_val must be greater than 0, but got: {self.num_val}")
        if labels is None:
            raise PlanError(
                f"PKSampler samples by class, but this dataset has no labels for column '{self.class_column}': "
                "add a label column to the dataset and pass its name as class_column, or add a method get_label(index)"
            )
        row_labels = np.asarray(labels())
        if row_labels.ndim > 1 and row_labels.size == len(row_labels):
            row_labels = row_labels.reshape(len(row_labels))
        if row_labels.shape != (size,):
            raise PlanError(
                f"PKSampler needs one label per row in column '{self.class_column}', "
                f"but got labels of shape {row_labels.shape} for {size} rows"
            )
        return row_labels

    def _total(self, classes: int) -> int:
        total = classes * self.num_val
        return min(self.num_samples, total) if self.num_samples else total

    def _count(self, size: int, labels: LabelProvider | None) -> int:
        return self._total(len(np.unique(self._classes(size, labels))))

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        _, numbers, sizes = np.unique(self._classes(size, labels), return_inverse=True, return_counts=True)
        rows = np.argsort(numbers.reshape(-1), kind="stable")
        class_order = (
            RandomPermutation(len(sizes), hash_integers(key, 1)) if self.shuffle else RangeOrder(len(sizes))
        )
        order = ClassOrder(rows, sizes, class_order.at(0, len(sizes)), self.num_val, key)
        total = self._total(len(sizes))
        return order if total == order.size else ComposedOrder(RangeOrder(total), order)

    def is_shuffled(self) -> bool:
        # this concerns the order of the classes; the rows of a class are always sampled at random
        return self.shuffle or self._child_predicate("is_shuffled")

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")


class ClassOrder:
    """``num_val`` samples from each class, in the given order of classes.

    >>> order = ClassOrder(np.array([0, 2, 1]), np.array([2, 1]), np.array([1, 0]), num_val=2, key=0)
    >>> order.at(0, 2).tolist()
    [1, 1]
    """

    def __init__(self, rows: Indices, sizes: Indices, turn: Indices, num_val: int, key: int) -> None:
        self.rows, self.sizes, self.turn, self.num_val, self.key = rows, sizes, turn, num_val, key
        self.starts = np.cumsum(sizes) - sizes
        self.size = len(sizes) * num_val

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        number = self.turn[positions // self.num_val]
        # the random number depends on (class, sample number), independent of the order of classes
        chance = random_at(number * self.num_val + positions % self.num_val, self.key).uniform(0)
        sizes = self.sizes[number]
        picked = np.minimum((chance * sizes).astype(np.int64), sizes - 1)
        return self.rows[self.starts[number] + picked]

"""WeightedRandomSampler: rows sampled by weights."""

from __future__ import annotations

from numbers import Number
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from millrace._src.core.args import checks_names_only
from millrace._src.core.errors import ArgumentTypeError, PlanError
from millrace._src.core.public import public
from millrace._src.core.random.permutation import ArrayOrder, IndexOrder, Indices
from millrace._src.core.random.shuffle import Shuffle

from .argument_types import check_bool
from .base import BuiltinSampler, LabelProvider
from .random import random_at

__all__ = ["WeightedRandomSampler"]

Floats = npt.NDArray[np.float64]


@public("dataset")
class WeightedRandomSampler(BuiltinSampler, ours=True):
    """Sample row ``i`` with a probability proportional to ``weights[i]``; rows beyond the list are never sampled.

    Without replacement a row with a large weight comes early, and rows with weight zero come last.

    >>> order = WeightedRandomSampler([0, 1, 3], num_samples=3).order(3, key=1)
    >>> set(order.at(0, 3).tolist()) <= {1, 2}
    True
    """

    _fields: ClassVar[tuple[str, ...]] = ("weights", "num_samples", "replacement")

    @checks_names_only
    def __init__(
        self, weights: list[float], num_samples: int | None = None, replacement: bool = True
    ) -> None:
        listed: list[Any] = weights if isinstance(weights, list) else [weights]
        for i, weight in enumerate(listed):
            if not isinstance(weight, Number):
                raise ArgumentTypeError(
                    f"type of weights element must be number, but got w[{i}]: {weight}, type: {type(weight)}."
                )
        check_bool(replacement, "replacement")
        self.weights = listed
        self.replacement = replacement
        super().__init__(num_samples)

    def _validated_weights(self, size: int, count: int) -> Floats:
        weights = np.asarray(self.weights, dtype=np.float64)
        prefix = "WeightedRandomSampler: "
        if not len(weights):
            raise PlanError(prefix + "weights vector must not be empty")
        for bad, requirement in (
            (~np.isfinite(weights), "must hold finite numbers only"),
            (weights < 0, "must not contain negative numbers"),
        ):
            if bad.any():
                i = int(bad.argmax())
                raise PlanError(f"{prefix}weights vector {requirement}, got: weights[{i}] = {weights[i]:f}")
        if not weights.any():
            raise PlanError(prefix + "elements of weights vector must not be all zero")
        if len(weights) > size:
            raise PlanError(
                "Invalid parameter, size of sample weights must be less than or equal to num of data, "
                "otherwise might cause generated id out of bound or other errors, "
                f"but got weight size: {len(weights)}, num of data: {size}"
            )
        if not self.replacement and count > len(weights):
            raise PlanError(
                "Invalid parameter, without replacement, weight size must be greater than or equal to "
                f"num_samples, but got weight size: {len(weights)}, num_samples: {count}"
            )
        return weights

    def _order(self, size: int, key: int, labels: LabelProvider | None) -> IndexOrder:
        count = self._count(size, labels)
        weights = self._validated_weights(size, count)
        if self.replacement:
            return WeightedOrder(count, weights, key)
        # The smallest of independent exponential times with rates w is i with probability w[i] / sum(w), and
        # so on for the rest: sorting the times is sampling without replacement.
        chance = random_at(np.arange(len(weights), dtype=np.int64), key).uniform(0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            times = np.where(weights > 0, -np.log1p(-chance) / weights, np.inf)
        return ArrayOrder(np.argsort(times, kind="stable")[:count])

    def get_shuffle_mode(self) -> Shuffle:
        return Shuffle.GLOBAL

    def is_shuffled(self) -> bool:
        return True

    def is_sharded(self) -> bool:
        return self._child_predicate("is_sharded")


class WeightedOrder:
    """``size`` row numbers, sampled independently with the given weights.

    >>> WeightedOrder(4, np.array([0.0, 1.0]), key=2).at(0, 4).tolist()
    [1, 1, 1, 1]
    """

    def __init__(self, size: int, weights: Floats, key: int) -> None:
        self.size, self.key = size, key
        # scaled first, so that the sum of huge weights is finite
        total = np.cumsum(weights / weights.max())
        self._steps: Floats = total / total[-1]
        self._last = int(np.flatnonzero(weights)[-1])

    def at(self, start: int, stop: int) -> Indices:
        return self.take(np.arange(start, min(stop, self.size), dtype=np.int64))

    def take(self, positions: Indices) -> Indices:
        chance = random_at(positions, self.key).uniform(0)
        # side="right" skips rows with weight zero; the last step is 1 up to rounding
        return np.minimum(np.searchsorted(self._steps, chance, side="right"), self._last).astype(np.int64)

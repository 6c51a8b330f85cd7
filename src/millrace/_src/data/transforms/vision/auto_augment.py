"""AutoAugment, RandAugment, TrivialAugmentWide, UniformAugment and random sub-policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision import auto_augment as augment
from millrace._src.data.kernels.vision.enums import AutoAugmentPolicy, Inter
from millrace._src.data.kernels.vision.validation import as_array
from millrace._src.data.transforms.argument_types import (
    FLOAT_MAX,
    ArgumentRule,
    check_interval,
    check_operations,
    check_positive,
)
from millrace._src.data.transforms.base import as_operation
from millrace._src.data.transforms.compose import Composite
from millrace._src.data.transforms.tensor_operation import ImageTensorOperation, TensorOperation

from .argument_types import FillValue, as_triple

__all__ = ["AutoAugment", "RandAugment", "RandomSelectSubpolicy", "TrivialAugmentWide", "UniformAugment"]

Bins = Annotated[int, Range(2, FLOAT_MAX)]


@public("dataset.vision", "dataset.vision.c_transforms")
class AutoAugment(ImageTensorOperation):
    """Apply AutoAugment: a random sub-policy of a learnt policy, two operations with a probability and a strength each.

    TranslateX and TranslateY translate by pixels, as in the paper (MindSpore translates by whole widths: a blank
    image).

    >>> AutoAugment()(np.zeros((8, 8, 3), np.uint8)).shape
    (8, 8, 3)
    """

    random = True

    @checked
    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: Inter = Inter.NEAREST,
        fill_value: FillValue = 0,
    ) -> None:
        self.policy, self.interpolation, self.fill_value = policy, interpolation, as_triple(fill_value)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        choice = rng.integers(0, 0, len(augment.POLICIES[self.policy]))
        units = np.stack([rng.uniform(1), rng.uniform(2)], axis=1)
        minus = np.stack([rng.bernoulli(3, 0.5), rng.bernoulli(4, 0.5)], axis=1)
        return choice, units, minus

    def row(self, x: Any, choice: int, units: Any, minus: Any) -> Any:
        x = as_array(x)
        for i, (op, prob, level) in enumerate(augment.POLICIES[self.policy][choice]):
            if units[i] > prob:
                continue
            strength = 0.0 if level is None else augment.rand_space(op, 10, level, x.shape[0], x.shape[1])
            if minus[i] and op in augment.SIGNED:
                strength = -strength
            x = augment.apply(x, op, strength, self.interpolation, self.fill_value, "AutoAugment")
        return x


@public("dataset.vision")
class RandAugment(ImageTensorOperation):
    """Apply RandAugment: a number of random operations out of fourteen, all at the same strength.

    >>> RandAugment()(np.zeros((8, 8, 3), np.uint8)).shape
    (8, 8, 3)
    """

    random = True

    def __init__(
        self,
        num_ops: Any = 2,
        magnitude: Any = 9,
        num_magnitude_bins: Any = 31,
        interpolation: Inter = Inter.NEAREST,
        fill_value: Any = 0,
    ) -> None:
        check_type(num_ops, (int,), "num_ops")
        check_interval(num_ops, 0, FLOAT_MAX, "num_ops")
        check_type(num_magnitude_bins, (int,), "num_magnitude_bins")
        check_interval(num_magnitude_bins, 2, FLOAT_MAX, "num_magnitude_bins")
        check_type(magnitude, (int,), "magnitude")
        check_interval(magnitude, 0, num_magnitude_bins, "magnitude", right_open=True)
        check_type(interpolation, (Inter,), "interpolation")
        AutoAugment(fill_value=fill_value)  # the same check
        self.num_ops, self.magnitude, self.num_magnitude_bins = num_ops, magnitude, num_magnitude_bins
        self.interpolation, self.fill_value = interpolation, as_triple(fill_value)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        count = max(1, self.num_ops)
        ops = np.stack([rng.integers(2 * i, 0, len(augment.RAND_OPS)) for i in range(count)], axis=1)
        minus = np.stack([rng.bernoulli(2 * i + 1, 0.5) for i in range(count)], axis=1)
        return ops, minus

    def row(self, x: Any, ops: Any, minus: Any) -> Any:
        x = as_array(x)
        for number, negative in list(zip(ops, minus))[: self.num_ops]:
            op = augment.RAND_OPS[number]
            bins = self.num_magnitude_bins
            strength = augment.rand_space(op, bins, self.magnitude, x.shape[0], x.shape[1])
            strength = -strength if negative and op in augment.SIGNED else strength
            x = augment.apply(x, op, strength, self.interpolation, self.fill_value, "RandAugment")
        return x


@public("dataset.vision")
class TrivialAugmentWide(ImageTensorOperation):
    """Apply TrivialAugmentWide: one random operation out of fourteen, at a random strength.

    >>> TrivialAugmentWide()(np.zeros((8, 8, 3), np.uint8)).shape
    (8, 8, 3)
    """

    random = True

    @checked
    def __init__(
        self, num_magnitude_bins: Bins = 31, interpolation: Inter = Inter.NEAREST, fill_value: FillValue = 0
    ) -> None:
        self.num_magnitude_bins, self.interpolation = num_magnitude_bins, interpolation
        self.fill_value = as_triple(fill_value)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        ops = rng.integers(0, 0, len(augment.RAND_OPS))
        return ops, rng.integers(1, 0, self.num_magnitude_bins), rng.bernoulli(2, 0.5)

    def row(self, x: Any, number: int, level: int, minus: bool) -> Any:
        op = augment.RAND_OPS[number]
        strength = augment.trivial_space(op, self.num_magnitude_bins, int(level))
        strength = -strength if minus and op in augment.SIGNED else strength
        name = "TrivialAugmentWide"
        return augment.apply(as_array(x), op, strength, self.interpolation, self.fill_value, name)


@public("dataset.vision", "dataset.vision.c_transforms", "dataset.vision.py_transforms")
class UniformAugment(Composite):
    """Apply a random selection of the transforms without repetition, each with a random probability.

    >>> import millrace.dataset.vision as vision
    >>> UniformAugment([vision.HorizontalFlip(), vision.Invert()], 1)(np.zeros((4, 4, 3), np.uint8)).shape
    (4, 4, 3)
    """

    random = True

    def __init__(self, transforms: Any, num_ops: Any = 2) -> None:
        check_type(num_ops, (int,), "num_ops")
        check_positive(num_ops, "num_ops")
        if num_ops > len(transforms):
            raise ArgumentValueError("num_ops is greater than transforms list size.")
        check_operations("transforms", transforms, (list, tuple))
        self.transforms, self.num_ops = transforms, num_ops

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        assert rng is not None
        count = len(self.transforms)
        order = np.argsort(np.stack([rng.bits(i) for i in range(count)], axis=1), axis=1)
        applied = np.stack(
            [rng.uniform(count + 2 * i) < rng.uniform(count + 2 * i + 1) for i in range(count)], axis=1
        )
        calls = self.calls(rng)

        def call(i: int, x: Any) -> Any:
            for number in order[i][: self.num_ops]:
                if applied[i][number]:
                    x = calls[number](i, x)
            return x

        return call


def _check_policy(name: str, value: Any) -> None:
    check_type(value, (list,), name)
    if not value:
        raise ArgumentValueError("policy can not be empty.")
    for i, sub in enumerate(value):
        check_type(sub, (list,), f"policy[[{i}]]")
        if not sub:
            raise ArgumentValueError(f"policy[{i}] can not be empty.")
        for j, step in enumerate(sub):
            if not (isinstance(step, tuple) and len(step) == 2):
                raise ArgumentValueError(f"Value policy[{i}][{j}] needs to be a 2-tuple.")
            if not callable(step[0]):
                raise ArgumentTypeError(
                    f"op of (op, prob) in policy[{i}][{j}] is neither a c_transform op (TensorOperation) nor a "
                    "callable pyfunc."
                )
            check_interval(step[1], 0, 1, f"prob of (op, prob) policy[{i}][{j}]")


@public("dataset.vision", "dataset.vision.c_transforms")
class RandomSelectSubpolicy(ImageTensorOperation):
    """Select a random sub-policy for each image: a list of (transform, probability).

    >>> import millrace.dataset.vision as vision
    >>> RandomSelectSubpolicy([[(vision.Invert(), 1.0)]])(np.zeros((1, 1, 3), np.uint8)).tolist()
    [[[255, 255, 255]]]
    """

    random = True

    @checked
    def __init__(self, policy: Annotated[Any, ArgumentRule(_check_policy)]) -> None:
        self.policy = policy

    @classmethod
    def from_fields(cls, fields: dict[str, Any]) -> TensorOperation:
        policy = fields.get("policy")
        # JSON has no tuples: the outer two levels were lists, the pairs inside were tuples
        if isinstance(policy, tuple) and all(isinstance(sub, tuple) for sub in policy):
            fields = fields | {"policy": [list(sub) for sub in policy]}
        return super().from_fields(fields)

    def params(self, rng: RandomStream) -> tuple[Any, ...]:
        return rng.integers(0, 0, len(self.policy)), [rng[i] for i in range(len(rng))]

    def row(self, x: Any, choice: int, rng: RandomStream) -> Any:
        for number, (op, prob) in enumerate(self.policy[choice]):
            if rng.bernoulli(1 + number, prob)[0]:
                op = as_operation(op)
                x = op.row_function(rng.split(number) if op.random else None)(0, x)
        return x

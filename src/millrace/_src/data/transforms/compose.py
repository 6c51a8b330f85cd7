"""Transforms made of transforms. Each inner one draws from a stream of its own, so that none disturbs another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision.validation import is_pil

from .argument_types import Operations
from .base import PyFunc, Transform, as_operation
from .tensor_operation import TensorOperation

__all__ = ["Compose", "Composite", "RandomApply", "RandomChoice", "RandomOrder", "not_random"]


def not_random(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as one that draws no random numbers.

    >>> @not_random
    ... def double(x):
    ...     return x * 2
    >>> double.random
    False
    """
    function.random = False  # type: ignore[attr-defined]
    return function


def _tuple(made: Any) -> tuple[Any, ...]:
    return made if type(made) is tuple else (made,)


def _one(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _in_python(op: Any) -> bool:
    return isinstance(op, TensorOperation) and op.runs_in_python


class Composite(TensorOperation):
    """Base of the transforms that hold others, in ``transforms``."""

    _is_builtin = True
    num_inputs = None
    transforms: list[Any]
    json_lists = frozenset({"transforms"})

    @property
    def operations(self) -> list[Transform]:
        """What is held, as transforms; a user's function is a PyFunc."""
        return [as_operation(op) for op in self.transforms]

    @property
    def is_expensive(self) -> bool:  # type: ignore[override]
        return any(op.is_expensive for op in self.operations)

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return all(_in_python(op) for op in self.transforms)

    def calls(self, draws: RandomStream | None) -> list[Callable[..., Any]]:
        """A function of (i, *values) for each held transform."""
        made = []
        for number, op in enumerate(self.operations):
            made.append(op.row_function(draws.split(number) if draws is not None and op.random else None))
        return made

    def as_input(self, value: Any) -> Any:
        if is_pil(value) or isinstance(value, (np.ndarray, bytes)):
            return value
        first = self.operations[0]
        return (
            value
            if isinstance(first, PyFunc)
            else first.as_input(value)
            if isinstance(first, TensorOperation)
            else value
        )


class Compose(Composite):
    """Several transforms one after the other; a tuple becomes the arguments of the next one.

    Called by itself with a Pillow image, or with a transform that MindSpore runs in Python (``ToPIL``, ``Grayscale``,
    ``Decode(to_pil=True)`` ...), it gives a tuple, even of one value, as MindSpore does: scripts take ``[0]`` of it.

    >>> Compose([lambda x: x + 1, lambda x: x * 2])(np.array(3))
    np.int64(8)
    """

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = self.decompose(transforms)

    @property
    def random(self) -> bool:  # type: ignore[override]
        return any(op.random for op in self.operations)

    def row_function(self, draws: RandomStream | None) -> Callable[..., Any]:
        calls = self.calls(draws)

        def call(i: int, *values: Any) -> Any:
            made: Any = values
            for one in calls:
                made = _tuple(one(i, *made))
            return _one(made)

        return call

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return any(_in_python(op) for op in self.transforms)

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise ArgumentTypeError(
                "Compose was called without an image. Fix invocation (avoid it being invoked as Compose([...])())."
            )
        made = super().__call__(*values)
        return _tuple(made) if self.runs_in_python or (len(values) == 1 and is_pil(values[0])) else made

    @staticmethod
    def decompose(operations: Sequence[Any]) -> list[Any]:
        """The operations, with those of every Compose among them in its place.

        >>> len(Compose.decompose([Compose([np.abs, np.abs]), np.abs]))
        3
        """
        flat: list[Any] = []
        for op in operations:
            flat += Compose.decompose(op.transforms) if isinstance(op, Compose) else [op]
        return flat

    @staticmethod
    def reduce(operations: Sequence[Any]) -> list[Any]:
        """The operations as the engine runs them: one by one, as they are.

        >>> Compose.reduce([np.abs])
        [<ufunc 'absolute'>]
        """
        return list(operations)

    def release_resource(self) -> None:
        """Nothing is held between calls."""


class RandomApply(Composite):
    """All of the transforms one after the other, or none: with a given probability.

    >>> RandomApply([np.negative], prob=1.0)(np.array(3))
    np.int64(-3)
    """

    random = True

    @checked
    def __init__(self, transforms: Operations, prob: Annotated[float | int, Range(0, 1)] = 0.5) -> None:
        self.transforms, self.prob = transforms, prob

    def row_function(self, draws: RandomStream | None) -> Callable[..., Any]:
        assert draws is not None
        now = draws.bernoulli(0, self.prob)
        calls = self.calls(draws)

        def call(i: int, *values: Any) -> Any:
            if now[i]:
                for one in calls:
                    values = _tuple(one(i, *values))
            return _one(values)

        return call


class RandomChoice(Composite):
    """One of the transforms, drawn for each row.

    >>> RandomChoice([np.negative])(np.array(3))
    np.int64(-3)
    """

    random = True

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = transforms

    def row_function(self, draws: RandomStream | None) -> Callable[..., Any]:
        assert draws is not None
        choice = draws.integers(0, 0, len(self.transforms))
        calls = self.calls(draws)
        return lambda i, *values: calls[choice[i]](i, *values)


class RandomOrder(Composite):
    """All of the transforms in an order drawn for each row.

    >>> RandomOrder([np.negative, np.abs])(np.array(-3)) in (3, -3)
    True
    """

    random = True
    runs_in_python = True

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = transforms

    def row_function(self, draws: RandomStream | None) -> Callable[..., Any]:
        assert draws is not None
        order = np.argsort(np.stack([draws.bits(i) for i in range(len(self.transforms))], axis=1), axis=1)
        calls = self.calls(draws)

        def call(i: int, *values: Any) -> Any:
            for number in order[i]:
                values = _tuple(calls[number](i, *values))
            return _one(values)

        return call

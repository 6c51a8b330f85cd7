"""Transforms made of transforms. Each inner one has a separate random stream, independent of the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from millrace._src.core.args import Range, checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.random.rng import RandomStream
from millrace._src.data.kernels.vision.validation import is_pil

from .argument_types import Operations
from .base import PyFunc, Transform, as_operation
from .tensor_operation import TensorOperation

__all__ = ["Compose", "Composite", "RandomApply", "RandomChoice", "RandomOrder", "not_random"]


@public("dataset.transforms", "dataset.transforms.py_transforms")
def not_random(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function as deterministic: it uses no random numbers.

    >>> @not_random
    ... def double(x):
    ...     return x * 2
    >>> double.random
    False
    """
    function.random = False  # type: ignore[attr-defined]
    return function


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if type(value) is tuple else (value,)


def _unwrap_single(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _runs_in_python(op: Any) -> bool:
    return isinstance(op, TensorOperation) and op.runs_in_python


class Composite(TensorOperation):
    """Base of the transforms that contain others, in ``transforms``."""

    _is_builtin = True
    num_inputs = None
    transforms: list[Any]
    json_lists = frozenset({"transforms"})

    @property
    def operations(self) -> list[Transform]:
        """The contained transforms; a user's function is a PyFunc."""
        return [as_operation(op) for op in self.transforms]

    @property
    def is_expensive(self) -> bool:  # type: ignore[override]
        return any(op.is_expensive for op in self.operations)

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return all(_runs_in_python(op) for op in self.transforms)

    def calls(self, rng: RandomStream | None) -> list[Callable[..., Any]]:
        """A function of (i, *values) for each contained transform."""
        functions = []
        for number, op in enumerate(self.operations):
            functions.append(op.row_function(rng.split(number) if rng is not None and op.random else None))
        return functions

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


@public("dataset.transforms", "dataset.transforms.c_transforms", "dataset.transforms.py_transforms")
class Compose(Composite):
    """Compose several transforms into one: each result is the input of the next; a tuple becomes its arguments.

    Called eagerly with a Pillow image, or with a transform that MindSpore runs in Python (``ToPIL``, ``Grayscale``,
    ``Decode(to_pil=True)`` ...), it returns a tuple, even for one value, as MindSpore does: scripts take ``[0]`` of it.

    >>> Compose([lambda x: x + 1, lambda x: x * 2])(np.array(3))
    np.int64(8)
    """

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = self.decompose(transforms)

    @property
    def random(self) -> bool:  # type: ignore[override]
        return any(op.random for op in self.operations)

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        calls = self.calls(rng)

        def call(i: int, *values: Any) -> Any:
            outputs: Any = values
            for function in calls:
                outputs = _as_tuple(function(i, *outputs))
            return _unwrap_single(outputs)

        return call

    @property
    def runs_in_python(self) -> bool:  # type: ignore[override]
        return any(_runs_in_python(op) for op in self.transforms)

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise ArgumentTypeError(
                "Compose was called without an image. Fix invocation (avoid it being invoked as Compose([...])())."
            )
        output = super().__call__(*values)
        return (
            _as_tuple(output) if self.runs_in_python or (len(values) == 1 and is_pil(values[0])) else output
        )

    @staticmethod
    def decompose(operations: Sequence[Any]) -> list[Any]:
        """Flatten the list of operations: the contents of every Compose replace it.

        >>> len(Compose.decompose([Compose([np.abs, np.abs]), np.abs]))
        3
        """
        flat: list[Any] = []
        for op in operations:
            flat += Compose.decompose(op.transforms) if isinstance(op, Compose) else [op]
        return flat

    @staticmethod
    def reduce(operations: Sequence[Any]) -> list[Any]:
        """Return the operations as the engine runs them: unchanged, one by one.

        >>> Compose.reduce([np.abs])
        [<ufunc 'absolute'>]
        """
        return list(operations)

    def release_resource(self) -> None:
        """Does nothing: no resources are held between calls."""


@public("dataset.transforms", "dataset.transforms.c_transforms", "dataset.transforms.py_transforms")
class RandomApply(Composite):
    """Apply all of the transforms in sequence with a given probability, or none.

    >>> RandomApply([np.negative], prob=1.0)(np.array(3))
    np.int64(-3)
    """

    random = True

    @checked
    def __init__(self, transforms: Operations, prob: Annotated[float | int, Range(0, 1)] = 0.5) -> None:
        self.transforms, self.prob = transforms, prob

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        assert rng is not None
        applied = rng.bernoulli(0, self.prob)
        calls = self.calls(rng)

        def call(i: int, *values: Any) -> Any:
            if applied[i]:
                for function in calls:
                    values = _as_tuple(function(i, *values))
            return _unwrap_single(values)

        return call


@public("dataset.transforms", "dataset.transforms.c_transforms", "dataset.transforms.py_transforms")
class RandomChoice(Composite):
    """Apply one randomly selected transform to each row.

    >>> RandomChoice([np.negative])(np.array(3))
    np.int64(-3)
    """

    random = True

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = transforms

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        assert rng is not None
        choice = rng.integers(0, 0, len(self.transforms))
        calls = self.calls(rng)
        return lambda i, *values: calls[choice[i]](i, *values)


@public("dataset.transforms", "dataset.transforms.py_transforms")
class RandomOrder(Composite):
    """Apply all of the transforms in a random order for each row.

    >>> RandomOrder([np.negative, np.abs])(np.array(-3)) in (3, -3)
    True
    """

    random = True
    runs_in_python = True

    @checked
    def __init__(self, transforms: Operations) -> None:
        self.transforms = transforms

    def row_function(self, rng: RandomStream | None) -> Callable[..., Any]:
        assert rng is not None
        order = np.argsort(np.stack([rng.bits(i) for i in range(len(self.transforms))], axis=1), axis=1)
        calls = self.calls(rng)

        def call(i: int, *values: Any) -> Any:
            for number in order[i]:
                values = _as_tuple(calls[number](i, *values))
            return _unwrap_single(values)

        return call

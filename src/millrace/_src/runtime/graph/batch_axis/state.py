"""State of a tensor in the analysis, and a call with its arguments by name.

A tensor has a batch axis if every element with the batch coordinate ``row`` is a function of that row of the
inputs, and the function is the same for every row and every batch size. A tensor without one depends on
neither the inputs nor the batch size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from millrace._src.runtime.graph.capture import Slot
from millrace._src.runtime.graph.program_serialization import Rows
from millrace._src.runtime.tensor.backend.torch_private import operator_schema

__all__ = [
    "UNTRACKED",
    "Axis",
    "CallView",
    "Dim",
    "Operand",
    "RowsMixed",
    "State",
    "Untracked",
    "bind_arguments",
    "operands_in",
]


class RowsMixed(Exception):
    """Why an operator ends the analysis: it mixes rows, moves them, or has no rule."""


class Dim(NamedTuple):
    """A length: ``times`` the batch size plus ``offset``."""

    times: int
    offset: int


class Axis(NamedTuple):
    """The batch axis: its index is ``(o * rows + row) * inner + i``, with ``o < outer`` and ``i < inner``."""

    position: int
    outer: int = 1
    inner: int = 1

    def with_position(self, position: int) -> Axis:
        return self._replace(position=position)

    @property
    def dim(self) -> Dim:
        return Dim(self.outer * self.inner, 0)


class Untracked:
    """A result that no other call may use, such as the workspace of a kernel."""


UNTRACKED = Untracked()
State = Axis | None | Untracked


class Operand(NamedTuple):
    """A tensor argument of a call."""

    slot: Slot
    dims: tuple[Dim, ...]
    dtype: torch.dtype
    axis: Axis | None

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def wrap(self, dim: int) -> int:
        """A non-negative dimension index."""
        return dim % self.ndim if self.ndim else 0


class CallView:
    """A call of an operator: arguments by name, tensors as operands, and the shapes of its results."""

    def __init__(self, func: Any, arguments: dict[str, Any], results: list[tuple[Dim, ...] | None]) -> None:
        self.func, self.arguments, self.results = func, arguments, results
        self.operands = [operand for value in arguments.values() for operand in operands_in(value)]

    def __getitem__(self, name: str) -> Any:
        return self.arguments[name]

    def get(self, name: str, default: Any = None) -> Any:
        return self.arguments.get(name, default)

    @property
    def batched(self) -> list[Operand]:
        """The operands with a batch axis."""
        return [operand for operand in self.operands if operand.axis is not None]

    def same(self, state: State) -> list[State]:
        """One state for every result."""
        return [state] * len(self.results)

    def require_constant(self, *names: str) -> None:
        """Reject arguments with a batch axis, such as weights that depend on the inputs."""
        for name in names:
            for operand in operands_in(self.get(name)):
                if operand.axis is not None:
                    raise RowsMixed(f"'{name}' depends on the inputs")


def bind_arguments(func: Any, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by the names of the operator's schema, defaults included."""
    bound = {}
    for number, argument in enumerate(operator_schema(func).arguments):
        if number < len(args):
            bound[argument.name] = args[number]
        elif argument.name in kwargs:
            bound[argument.name] = kwargs[argument.name]
        else:
            bound[argument.name] = argument.default_value if argument.has_default_value() else None
    return bound


def operands_in(value: Any) -> Iterator[Operand]:
    """Iterate over the tensors of an argument."""
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, (list, tuple)) and not isinstance(value, (Slot, Rows, Axis, Dim)):
        for part in value:
            yield from operands_in(part)

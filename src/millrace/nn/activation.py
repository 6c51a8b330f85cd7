"""Activation layers, and finding one by name."""

from __future__ import annotations

from typing import Any

from millrace import ops
from millrace.core.errors import ArgumentTypeError, ArgumentValueError

from .cell import Cell

__all__ = ["ReLU", "Sigmoid", "Tanh", "get_activation"]


class ReLU(Cell):
    """Each element, or 0 where it is below."""

    def construct(self, input: Any) -> Any:
        return ops.relu(input)


class Tanh(Cell):
    """Hyperbolic tangent of each element."""

    def construct(self, x: Any) -> Any:
        return ops.tanh(x)


class Sigmoid(Cell):
    """The logistic function of each element."""

    def construct(self, x: Any) -> Any:
        return ops.sigmoid(x)


# A name for each layer that needs no arguments; a family that adds one adds its name here.
NAMES: dict[str, type[Cell]] = {"relu": ReLU, "tanh": Tanh, "sigmoid": Sigmoid}


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """The activation layer of a name.

    >>> get_activation("relu")
    ReLU()
    """
    if name is None:
        return None
    if not isinstance(name, str):
        raise ArgumentTypeError(f"For 'get_activation', the 'name' must be str, but got {name!r}.")
    if name not in NAMES:
        where = f"For '{prim_name}'" if prim_name else "For 'get_activation'"
        raise ArgumentValueError(f"{where}, the 'name' must be in {sorted(NAMES)}, but got {name}.")
    return NAMES[name]()

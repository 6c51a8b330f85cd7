"""Activation layers without arguments, and lookup by name."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.math.trigonometric import tanh
from millrace._src.runtime.ops.nn.activation import (
    fast_gelu,
    hardsigmoid,
    hardswish,
    logsigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softsign,
    tanhshrink,
)

from .cell import Cell

__all__ = [
    "FastGelu",
    "HSigmoid",
    "HSwish",
    "LogSigmoid",
    "Mish",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SiLU",
    "Sigmoid",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "get_activation",
]


class ParameterlessCell(Cell):
    """A layer without constructor arguments."""

    def __init__(self) -> None:
        super().__init__()


@public("nn", "mint.nn")
class ReLU(ParameterlessCell):
    """Rectified linear unit: max(0, x).

    >>> from millrace import Tensor
    >>> ReLU()(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def construct(self, input: Any) -> Any:
        return relu(input)


@public("nn")
class ReLU6(ParameterlessCell):
    """ReLU limited to 6: min(max(0, x), 6)."""

    def construct(self, x: Any) -> Any:
        return relu6(x)


@public("nn")
class SiLU(ParameterlessCell):
    """Sigmoid linear unit: x * sigmoid(x)."""

    def construct(self, x: Any) -> Any:
        return silu(x)


@public("nn", "mint.nn")
class Tanh(ParameterlessCell):
    """Hyperbolic tangent."""

    def construct(self, x: Any) -> Any:
        return tanh(x)


@public("nn")
class Tanhshrink(ParameterlessCell):
    """x - tanh(x)."""

    def construct(self, x: Any) -> Any:
        return tanhshrink(x)


@public("nn", "mint.nn")
class Sigmoid(ParameterlessCell):
    """Logistic sigmoid."""

    def construct(self, input: Any) -> Any:
        return sigmoid(input)


@public("nn", "mint.nn")
class LogSigmoid(ParameterlessCell):
    """Logarithm of the sigmoid."""

    def construct(self, input_x: Any) -> Any:
        return logsigmoid(input_x)


@public("nn")
class Softsign(ParameterlessCell):
    """Softsign: x / (1 + |x|)."""

    def construct(self, x: Any) -> Any:
        return softsign(x)


@public("nn")
class SeLU(ParameterlessCell):
    """Scaled exponential linear unit."""

    def construct(self, input_x: Any) -> Any:
        return selu(input_x)


@public("nn", "mint.nn:Hardsigmoid")
class HSigmoid(ParameterlessCell):
    """Hard sigmoid: a piecewise linear sigmoid."""

    def construct(self, input_x: Any) -> Any:
        return hardsigmoid(input_x)


@public("nn", "mint.nn:Hardswish")
class HSwish(ParameterlessCell):
    """Hard swish: x * hard sigmoid(x)."""

    def construct(self, x: Any) -> Any:
        return hardswish(x)


@public("nn", "mint.nn")
class Mish(ParameterlessCell):
    """Mish: x * tanh(log(1 + exp(x)))."""

    def construct(self, input: Any) -> Any:
        return mish(input)


@public("nn")
class FastGelu(ParameterlessCell):
    """Fast approximation of :class:`GELU`."""

    def construct(self, x: Any) -> Any:
        return fast_gelu(x)


class UnknownActivation(ArgumentValueError, KeyError):
    """An unknown activation name. MindSpore raises KeyError, which prints its text in quotes."""

    __str__ = Exception.__str__


# Layers without arguments by name; activation_shaped.py adds those with arguments.
ACTIVATIONS: dict[str, type[Cell]] = {
    "relu": ReLU,
    "relu6": ReLU6,
    "silu": SiLU,
    "tanh": Tanh,
    "tanhshrink": Tanhshrink,
    "sigmoid": Sigmoid,
    "logsigmoid": LogSigmoid,
    "softsign": Softsign,
    "hsigmoid": HSigmoid,
    "hswish": HSwish,
    "mish": Mish,
    "fast_gelu": FastGelu,
}


@public("nn")
def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """The activation layer of a name.

    >>> get_activation("relu")
    ReLU()
    """
    if name is None:
        return None
    # registers the other layers; a module that imports this one, so imported late
    from . import activation_shaped  # noqa: F401

    if name not in ACTIVATIONS:
        where = f"For '{prim_name}', the" if prim_name else "The"
        raise UnknownActivation(f"{where} 'name' must be in {sorted(ACTIVATIONS)}, but got {name}.")
    return ACTIVATIONS[name]()

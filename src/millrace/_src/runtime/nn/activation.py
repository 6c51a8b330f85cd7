"""Activation layers without arguments, and finding one by name."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.math.trigonometric import tanh
from millrace._src.runtime.ops.nn.activation import relu, relu6, sigmoid, silu
from millrace._src.runtime.ops.nn.nonlinear import (
    fast_gelu,
    hardsigmoid,
    hardswish,
    logsigmoid,
    mish,
    selu,
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
    """A layer that is made without arguments."""

    def __init__(self) -> None:
        super().__init__()


@public("nn", "mint.nn")
class ReLU(ParameterlessCell):
    """Each element, or 0 where it is below.

    >>> from millrace import Tensor
    >>> ReLU()(Tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    def construct(self, input: Any) -> Any:
        return relu(input)


@public("nn")
class ReLU6(ParameterlessCell):
    """Each element within 0 and 6."""

    def construct(self, x: Any) -> Any:
        return relu6(x)


@public("nn")
class SiLU(ParameterlessCell):
    """Each element times its logistic function."""

    def construct(self, x: Any) -> Any:
        return silu(x)


@public("nn", "mint.nn")
class Tanh(ParameterlessCell):
    """Hyperbolic tangent of each element."""

    def construct(self, x: Any) -> Any:
        return tanh(x)


@public("nn")
class Tanhshrink(ParameterlessCell):
    """Each element less its hyperbolic tangent."""

    def construct(self, x: Any) -> Any:
        return tanhshrink(x)


@public("nn", "mint.nn")
class Sigmoid(ParameterlessCell):
    """The logistic function of each element."""

    def construct(self, input: Any) -> Any:
        return sigmoid(input)


@public("nn", "mint.nn")
class LogSigmoid(ParameterlessCell):
    """The logarithm of the logistic function of each element."""

    def construct(self, input_x: Any) -> Any:
        return logsigmoid(input_x)


@public("nn")
class Softsign(ParameterlessCell):
    """x / (1 + |x|)."""

    def construct(self, x: Any) -> Any:
        return softsign(x)


@public("nn")
class SeLU(ParameterlessCell):
    """An exponential below 0 and a line above, scaled so that variances stay 1."""

    def construct(self, input_x: Any) -> Any:
        return selu(input_x)


@public("nn", "mint.nn:Hardsigmoid")
class HSigmoid(ParameterlessCell):
    """The logistic function made of straight lines."""

    def construct(self, input_x: Any) -> Any:
        return hardsigmoid(input_x)


@public("nn", "mint.nn:Hardswish")
class HSwish(ParameterlessCell):
    """Each element times :class:`HSigmoid` of it."""

    def construct(self, x: Any) -> Any:
        return hardswish(x)


@public("nn", "mint.nn")
class Mish(ParameterlessCell):
    """x * tanh(log(1 + exp(x)))."""

    def construct(self, input: Any) -> Any:
        return mish(input)


@public("nn")
class FastGelu(ParameterlessCell):
    """:class:`GELU` by a quicker formula."""

    def construct(self, x: Any) -> Any:
        return fast_gelu(x)


class UnknownActivation(ArgumentValueError, KeyError):
    """A name that no activation has. MindSpore raises KeyError, which prints its text in quotes."""

    __str__ = Exception.__str__


# A name for each layer that needs no arguments; the layers with arguments add theirs.
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
    if name not in ACTIVATIONS:
        where = f"For '{prim_name}', the" if prim_name else "The"
        raise UnknownActivation(f"{where} 'name' must be in {sorted(ACTIVATIONS)}, but got {name}.")
    return ACTIVATIONS[name]()

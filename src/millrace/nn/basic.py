"""Dense, and what else nets are made of first."""

from __future__ import annotations

import math
from typing import Any

from millrace import ops
from millrace.core import dtype as mstype
from millrace.core.dtype import DType
from millrace.core.errors import ArgumentTypeError, ArgumentValueError
from millrace.core.tensor import Tensor
from millrace.tensor.initializer import HeUniform, Uniform, initializer
from millrace.tensor.parameter import Parameter

from .activation import get_activation
from .cell import Cell
from .checks import check_bool, check_positive_int

__all__ = ["Dense"]


class Dense(Cell):
    """A matrix times the input, plus a bias, through an activation.

    >>> Dense(3, 4)(Tensor([[1.0, 2.0, 3.0]])).shape
    (1, 4)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.in_channels = check_positive_int(in_channels, "in_channels", "Dense")
        self.out_channels = check_positive_int(out_channels, "out_channels", "Dense")
        self.has_bias = check_bool(has_bias, "has_bias", "Dense")
        shape = (out_channels, in_channels)
        if isinstance(weight_init, Tensor) and weight_init.shape != shape:
            raise ArgumentValueError(
                "For 'Dense', weight init shape error. The ndim of 'weight_init' must be equal to 2, and the first "
                "dim must be equal to 'out_channels', and the second dim must be equal to 'in_channels'. But got "
                f"'weight_init': {weight_init}, 'out_channels': {out_channels}, 'in_channels': {in_channels}."
            )
        start = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(start, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            if isinstance(bias_init, Tensor) and bias_init.shape != (out_channels,):
                raise ArgumentValueError(
                    "For 'Dense', bias init shape error. The ndim of 'bias_init' must be equal to 1, and the first "
                    f"dim must be equal to 'out_channels'. But got 'bias_init': {bias_init}, "
                    f"'out_channels': {out_channels}."
                )
            begin = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(begin, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation, "Dense") if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise ArgumentTypeError(
                f"For 'Dense', the 'activation' must be str or Cell or Primitive, but got {type(activation).__name__}."
            )

    def construct(self, x: Any) -> Any:
        x = ops.dense(x, self.weight, self.bias)
        return x if self.activation is None else self.activation(x)

    def extend_repr(self) -> str:
        said = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            said += f", has_bias={self.has_bias}"
        return said if self.activation is None else f"{said}, activation={self.activation}"

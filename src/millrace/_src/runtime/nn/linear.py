"""Dense layers."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.nn.linear import bidense, dense
from millrace._src.runtime.tensor.initializer import HeUniform, Uniform, initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .activation import get_activation
from .argument_types import check_bool, check_positive_int, check_shape
from .cell import Cell

__all__ = ["BiDense", "Dense"]


@public("nn")
class Dense(Cell):
    """Fully connected layer: ``activation(x W^T + b)``.

    >>> from millrace import Tensor
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
        start = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(
            initializer(check_shape(start, shape, "weight_init", "Dense"), shape, dtype), name="weight"
        )
        self.bias = None
        if has_bias:
            begin = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            check_shape(begin, (out_channels,), "bias_init", "Dense")
            self.bias = Parameter(initializer(begin, (out_channels,), dtype), name="bias")
        self.activation = get_activation(activation, "Dense") if isinstance(activation, str) else activation
        if self.activation is not None and not callable(self.activation):
            raise ArgumentTypeError(
                f"For 'Dense', the 'activation' must be str or Cell or Primitive, but got {type(activation).__name__}."
            )

    def construct(self, x: Any) -> Any:
        x = dense(x, self.weight, self.bias)
        return x if self.activation is None else self.activation(x)

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        return text if self.activation is None else f"{text}, activation={self.activation}"


@public("nn")
class BiDense(Cell):
    """Bilinear layer: ``x1 W x2^T + b`` for each output."""

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        self.in1_channels = check_positive_int(in1_channels, "in1_channels", "BiDense")
        self.in2_channels = check_positive_int(in2_channels, "in2_channels", "BiDense")
        self.out_channels = check_positive_int(out_channels, "out_channels", "BiDense")
        self.has_bias = check_bool(has_bias, "has_bias", "BiDense")
        shape, bound = (out_channels, in1_channels, in2_channels), 1 / math.sqrt(in1_channels)
        start = Uniform(bound) if weight_init is None else weight_init
        check_shape(start, shape, "weight_init", "BiDense")
        self.weight = Parameter(initializer(start, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            begin = Uniform(bound) if bias_init is None else bias_init
            check_shape(begin, (out_channels,), "bias_init", "BiDense")
            self.bias = Parameter(initializer(begin, (out_channels,), dtype), name="bias")

    def construct(self, input1: Any, input2: Any) -> Any:
        return bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        text = (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
            f"output_channels={self.out_channels}"
        )
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text

"""Linear layer with PyTorch signature."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.nn.argument_types import check_bool, check_positive_int, check_shape
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn.linear import dense
from millrace._src.runtime.tensor.initializer import HeUniform, Uniform, initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["Linear"]


@public("nn", "mint.nn")
class Linear(Cell):
    """Dense with PyTorch's arguments.

    >>> Linear(3, 4)
    Linear(input_features=3, output_features=4, has_bias=True)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = check_positive_int(in_features, "in_features", "Linear")
        self.out_features = check_positive_int(out_features, "out_features", "Linear")
        self.has_bias = check_bool(bias, "has_bias", "Linear")
        weight_dtype, shape = dtype or mstype.float32, (out_features, in_features)
        start = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        check_shape(start, shape, "weight_init", "Linear")
        self.weight = Parameter(initializer(start, shape, weight_dtype), name="weight")
        self.bias = None
        if bias:
            begin = Uniform(1 / math.sqrt(in_features)) if bias_init is None else bias_init
            check_shape(begin, (out_features,), "bias_init", "Linear")
            self.bias = Parameter(initializer(begin, (out_features,), weight_dtype), name="bias")

    def construct(self, input: Any) -> Any:
        return dense(input, self.weight, self.bias)

    def extend_repr(self) -> str:
        text = f"input_features={self.in_features}, output_features={self.out_features}"
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text

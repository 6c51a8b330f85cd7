"""Layers of ``mint.nn`` that hold no weights: activations, pooling, shapes, sizes."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.nn.activation import ParameterlessCell
from millrace._src.runtime.nn.argument_types import check_choice
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn import activation, nonlinear
from millrace._src.runtime.ops.nn import softmax as softmaxes
from millrace._src.runtime.ops.nn.activation import gelu
from millrace._src.runtime.ops.nn.nonlinear import glu, prelu, selu
from millrace._src.runtime.ops.nn.softmax import log_softmax_mint
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = [
    "ELU",
    "GELU",
    "GLU",
    "Hardtanh",
    "LogSoftmaxExt",
    "PReLUExt",
    "ReLU6",
    "SELU",
    "SiLU",
    "Softmax",
    "Threshold",
]


@public("mint.nn")
class ELU(Cell):
    """alpha * (exp(x) - 1) below 0, x above."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def construct(self, input: Any) -> Any:
        return nonlinear.elu_mint(input, self.alpha, self.inplace)


@public("mint.nn")
class GELU(Cell):
    """Each element times the normal distribution function of it, exactly or by the formula with tanh."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = check_choice(approximate, "approximate", "GELU", ["none", "tanh"])

    def construct(self, input: Any) -> Any:
        return gelu(input, self.approximate)


@public("mint.nn")
class GLU(Cell):
    """The first half along an axis, times the logistic function of the second."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return glu(input, self.dim)


@public("mint.nn")
class SELU(ParameterlessCell):
    """An exponential below 0 and a line above, scaled so that variances stay 1."""

    def construct(self, input: Any) -> Any:
        return selu(input)


@public("mint.nn")
class Hardtanh(Cell):
    """Each element within `min_val` and `max_val`."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (min_val, max_val, inplace)

    def construct(self, input: Any) -> Any:
        return nonlinear.hardtanh_mint(input, *self.arguments)


@public("mint.nn")
class ReLU6(Cell):
    """Each element within 0 and 6."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return nonlinear.relu6_mint(input, self.inplace)


@public("mint.nn")
class SiLU(Cell):
    """Each element times its logistic function."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return activation.silu_mint(input, self.inplace)


@public("mint.nn")
class Threshold(Cell):
    """Each element above `threshold`, and `value` for the others."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (threshold, value, inplace)

    def construct(self, input: Any) -> Any:
        return nonlinear.threshold_mint(input, *self.arguments)


@public("mint.nn")
class Softmax(Cell):
    """Exponentials, divided by their sum along an axis."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return softmaxes.softmax_mint(input, self.dim)


@public("nn", "mint.nn:LogSoftmax")
class LogSoftmaxExt(Cell):
    """The logarithm of Softmax, with PyTorch's name of the axis."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return log_softmax_mint(input, self.dim)


@public("nn", "mint.nn:PReLU")
class PReLUExt(Cell):
    """PReLU with PyTorch's arguments."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: DType | None = None) -> None:
        super().__init__()
        self.weight = Parameter(initializer(init, (num_parameters,), dtype or mstype.float32), name="weight")

    def construct(self, input: Any) -> Any:
        return prelu(input, self.weight)

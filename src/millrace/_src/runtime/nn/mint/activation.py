"""Activation layers of ``mint.nn``."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.nn.activation import ParameterlessCell
from millrace._src.runtime.nn.argument_types import check_choice
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn import activation
from millrace._src.runtime.ops.nn import activation as activation_ops
from millrace._src.runtime.ops.nn import softmax as softmaxes
from millrace._src.runtime.ops.nn.activation import gelu, glu, prelu, selu
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
    """Exponential linear unit: alpha * (exp(x) - 1) for x < 0, else x."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def construct(self, input: Any) -> Any:
        return activation_ops.elu_mint(input, self.alpha, self.inplace)


@public("mint.nn")
class GELU(Cell):
    """Gaussian error linear unit: exact, or by the tanh approximation."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = check_choice(approximate, "approximate", "GELU", ["none", "tanh"])

    def construct(self, input: Any) -> Any:
        return gelu(input, self.approximate)


@public("mint.nn")
class GLU(Cell):
    """Gated linear unit: the first half along an axis, times the sigmoid of the second half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return glu(input, self.dim)


@public("mint.nn")
class SELU(ParameterlessCell):
    """Scaled exponential linear unit."""

    def construct(self, input: Any) -> Any:
        return selu(input)


@public("mint.nn")
class Hardtanh(Cell):
    """Clamp to [`min_val`, `max_val`]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (min_val, max_val, inplace)

    def construct(self, input: Any) -> Any:
        return activation_ops.hardtanh_mint(input, *self.arguments)


@public("mint.nn")
class ReLU6(Cell):
    """ReLU limited to 6: min(max(0, x), 6)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return activation_ops.relu6_mint(input, self.inplace)


@public("mint.nn")
class SiLU(Cell):
    """Sigmoid linear unit: x * sigmoid(x)."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return activation.silu_mint(input, self.inplace)


@public("mint.nn")
class Threshold(Cell):
    """x if x > `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.arguments = (threshold, value, inplace)

    def construct(self, input: Any) -> Any:
        return activation_ops.threshold_mint(input, *self.arguments)


@public("mint.nn")
class Softmax(Cell):
    """Softmax along an axis."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, input: Any) -> Any:
        return softmaxes.softmax_mint(input, self.dim)


@public("nn", "mint.nn:LogSoftmax")
class LogSoftmaxExt(Cell):
    """Logarithm of softmax, with PyTorch's argument ``dim``."""

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

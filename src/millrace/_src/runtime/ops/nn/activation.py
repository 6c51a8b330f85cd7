"""Activation functions: relu, sigmoid, silu, gelu, leaky_relu."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.dtype_rules import ANY_DTYPE, FLOAT, FLOATS, FLOATS_COMPLEX, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "GeLU",
    "ReLU",
    "ReLU6",
    "Sigmoid",
    "gelu",
    "gelu_mint",
    "gelu_tanh",
    "leaky_relu",
    "leaky_relu_mint",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "silu_mint",
]


@op("ops", "mint.nn.functional", accepts=ANY_DTYPE, dtype=SAME)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """ReLU: max(x, 0); `inplace` writes the result into `input`."""
    if input.dtype is torch.bool:
        return input.clone()
    return torch.relu_(input) if inplace else torch.relu(input)


@op("ops", dtype=SAME)
def relu6(x: Tensor) -> Tensor:
    """ReLU6: each element clamped to [0, 6]."""
    return F.relu6(x)


@op("ops", "mint", "mint.nn.functional", "Tensor", accepts=FLOATS_COMPLEX, dtype=SAME)
def sigmoid(input: Tensor) -> Tensor:
    """Sigmoid (logistic) function of each element."""
    return torch.sigmoid(input)


@op("ops", accepts=FLOATS_COMPLEX, dtype=SAME)
def silu(input: Tensor) -> Tensor:
    """SiLU (swish): x * sigmoid(x)."""
    return F.silu(input)


@op("mint.nn.functional:silu", accepts=FLOATS_COMPLEX, dtype=SAME)
def silu_mint(input: Tensor, inplace: bool = False) -> Tensor:
    """SiLU (swish): x * sigmoid(x); `inplace` writes the result into `input`."""
    return F.silu(input, inplace)


@op("ops", accepts=FLOATS, dtype=SAME)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """GELU: x times the standard normal distribution function at x; "tanh" is the approximation."""
    if approximate not in ("none", "tanh"):
        raise ArgumentValueError("For ops.gelu, approximate value should be either 'none' or 'tanh'.")
    return F.gelu(input, approximate=approximate)


@op("mint.nn.functional:gelu", accepts=FLOATS, dtype=SAME)
def gelu_mint(input: Tensor, *, approximate: str = "none") -> Tensor:
    """GELU: x times the standard normal distribution function at x; "tanh" is the approximation."""
    return gelu.raw(input, approximate)


@op(accepts=FLOATS, dtype=SAME)
def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its tanh approximation, which the class `ops.GeLU` computes."""
    return F.gelu(x, approximate="tanh")


@op("ops", dtype=FLOAT)
def leaky_relu(input: Tensor, alpha: float = 0.2) -> Tensor:
    """Leaky ReLU: negative elements are multiplied by `alpha`."""
    if not input.is_floating_point():
        input = input.to(torch.float32)
    return F.leaky_relu(input, alpha)


@op("mint.nn.functional:leaky_relu", accepts=FLOATS, dtype=SAME)
def leaky_relu_mint(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Leaky ReLU: negative elements are multiplied by `negative_slope`."""
    return F.leaky_relu(input, negative_slope)


ReLU = primitive("ReLU", relu, init=(), call=("input",))
ReLU6 = primitive("ReLU6", relu6)
Sigmoid = primitive("Sigmoid", sigmoid)
GeLU = primitive("GeLU", gelu_tanh)

export_names(__name__, "ops", Gelu="GeLU")

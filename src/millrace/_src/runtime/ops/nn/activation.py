"""Activation functions: relu, sigmoid, silu, gelu, elu, selu, hardswish, glu, threshold.

Gradients are MindSpore's except at single points, where a function has a kink (relu6 at 6, hardtanh at its limits,
hardswish at -3 and 3, leaky_relu at 0) and either one-sided gradient is valid; and except for selu, where
MindSpore's CPU kernel is wrong below 0.
"""

from __future__ import annotations

from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.args import Range
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import ANY_DTYPE, FLOAT, FLOATS, FLOATS_COMPLEX, REAL, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.softmax import one_axis

__all__ = [
    "CeLU",
    "Elu",
    "FastGeLU",
    "GLU",
    "GeLU",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Mish",
    "PReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "Sigmoid",
    "SoftShrink",
    "Softplus",
    "Softsign",
    "celu",
    "elu",
    "elu_",
    "elu_mint",
    "fast_gelu",
    "gelu",
    "gelu_mint",
    "gelu_tanh",
    "glu",
    "glu_mint",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "hardtanh_mint",
    "leaky_relu",
    "leaky_relu_mint",
    "logsigmoid",
    "logsigmoid_mint",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu6_mint",
    "relu_",
    "rrelu",
    "selu",
    "sigmoid",
    "silu",
    "silu_mint",
    "softplus",
    "softplus_plain",
    "softshrink",
    "softsign",
    "swiglu",
    "tanhshrink",
    "threshold",
    "threshold_",
    "threshold_mint",
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


@op("ops", accepts=FLOATS, dtype=SAME)
def elu(input_x: Tensor, alpha: float = 1.0) -> Tensor:
    """ELU: `alpha * (exp(x) - 1)` for negative elements. MindSpore supports only `alpha=1.0`."""
    return F.elu(input_x, alpha)


@op("mint.nn.functional:elu", accepts=FLOATS, dtype=SAME)
def elu_mint(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """ELU: `alpha * (exp(x) - 1)` for negative elements."""
    return F.elu(input, alpha, inplace)


@op("mint.nn.functional", accepts=FLOATS, dtype=SAME, differentiable=False)
def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """ELU, written into `input`."""
    return F.elu_(input, alpha)


@op("ops", accepts=REAL, dtype=SAME)
def selu(input_x: Tensor) -> Tensor:
    """SELU: scaled ELU that keeps mean and variance; integers are rounded towards 0."""
    if input_x.is_floating_point():
        return F.selu(input_x)
    return F.selu(input_x.to(torch.float32)).to(input_x.dtype)


@op("ops", accepts=FLOATS, dtype=SAME)
def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """CELU: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    if isinstance(alpha, bool) or not isinstance(alpha, (float, int)):
        raise ArgumentTypeError(f"For 'celu', 'alpha' must be a float, but got {alpha!r}.")
    if alpha == 0:
        raise ArgumentValueError("For 'celu', 'alpha' must not be 0.")
    return F.celu(x, alpha)


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """PReLU: negative elements are multiplied by `weight`, one per channel or one for all."""
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() not in (1, channels):
        raise ArgumentValueError(
            f"For 'prelu', the length of 'weight' must be equal to number of channels: {channels}, or 1, "
            f"but got {list(weight.shape)}."
        )
    return torch.prelu(input, weight)


def _is_accurate(x: Tensor) -> bool:
    """Whether PyTorch's hardswish and hardsigmoid compute in this dtype: on CUDA, float64 is rounded to float32."""
    return x.is_floating_point() and not (x.is_cuda and x.dtype == torch.float64)


@op("ops", accepts=REAL, dtype=SAME)
def hardswish(input: Tensor) -> Tensor:
    """x * relu6(x + 3) / 6."""
    if _is_accurate(input):
        return F.hardswish(input)
    if input.is_floating_point():
        return input * torch.clamp(input + 3, 0, 6) / 6
    return (input * torch.clamp(input + 3, 0, 6)).div(6, rounding_mode="trunc").to(input.dtype)


@op("ops", accepts=REAL, dtype=SAME)
def hardsigmoid(input: Tensor) -> Tensor:
    """relu6(x + 3) / 6."""
    if _is_accurate(input):
        return F.hardsigmoid(input)
    if input.is_floating_point():
        return torch.clamp(input + 3, 0, 6) / 6
    return torch.clamp(input + 3, 0, 6).div(6, rounding_mode="trunc").to(input.dtype)


@op("ops", accepts=FLOATS, dtype=SAME)
def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x))."""
    return F.mish(x)


@op("ops", accepts=FLOATS, dtype=SAME)
def softplus(input: Tensor, beta: Any = 1, threshold: Any = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    for name, value in (("beta", beta), ("threshold", threshold)):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ArgumentTypeError(f"For 'softplus', '{name}' must be a number, but got {value!r}.")
    return F.softplus(input, beta, threshold)


@op(accepts=FLOATS, dtype=SAME)
def softplus_plain(input_x: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    return F.softplus(input_x)


@op("ops", accepts=FLOATS, dtype=SAME)
def softsign(x: Tensor) -> Tensor:
    """Softsign: x / (1 + |x|)."""
    return F.softsign(x)


@op("ops", accepts=FLOATS_COMPLEX, dtype=SAME)
def logsigmoid(x: Tensor) -> Tensor:
    """Logarithm of the sigmoid function."""
    return F.logsigmoid(x)


@op("mint.nn.functional:logsigmoid", accepts=FLOATS, dtype=SAME)
def logsigmoid_mint(input: Tensor) -> Tensor:
    """Logarithm of the sigmoid function."""
    return F.logsigmoid(input)


@op("ops", accepts=REAL, dtype=SAME)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Clamp each element to a range. At a limit the gradient is one half, as in MindSpore."""
    _check_limits("hardtanh", min_val, max_val)
    low, high = promote_operands(input, min_val)[1], promote_operands(input, max_val)[1]
    return torch.minimum(torch.maximum(input, low), high).to(input.dtype)


def _check_limits(name: str, low: Any, high: Any) -> None:
    for label, value in (("min_val", low), ("max_val", high)):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ArgumentTypeError(f"For '{name}', '{label}' must be a number, but got {value!r}.")


@op("mint.nn.functional:hardtanh", accepts=REAL, dtype=SAME)
def hardtanh_mint(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """Clamp each element to a range; `inplace` writes the result into `input`."""
    return F.hardtanh(input, min_val, max_val, inplace)


@op("mint.nn.functional", accepts=REAL, dtype=SAME, differentiable=False)
def hardtanh_(input: Tensor, min_val: float = -1, max_val: float = 1) -> Tensor:
    """Clamp each element to a range, written into `input`."""
    return F.hardtanh_(input, min_val, max_val)


@op("ops", accepts=FLOATS, dtype=SAME)
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """Gated linear unit: the first half along an axis times the sigmoid of the second half."""
    return F.glu(x, one_axis("glu", axis, x.ndim))


@op("mint.nn.functional:glu", accepts=FLOATS, dtype=SAME)
def glu_mint(input: Tensor, dim: int = -1) -> Tensor:
    """Gated linear unit: the first half along an axis times the sigmoid of the second half."""
    if input.shape[dim] % 2:
        raise OperationError(
            f"For 'glu', the size along axis {dim} must be even, but got {input.shape[dim]}."
        )
    return F.glu(input, dim)


@op("ops", accepts=FLOATS, dtype=SAME)
def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """SwiGLU: silu of the first half along an axis times the second half."""
    first, second = torch.chunk(input, 2, dim)
    return F.silu(first) * second


@op("ops", accepts=FLOATS, dtype=SAME)
def fast_gelu(x: Tensor) -> Tensor:
    """Fast GELU: x * sigmoid(1.702 * x)."""
    return x * torch.sigmoid(1.702 * x)


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3) -> Tensor:
    """Randomized leaky ReLU: negative elements are multiplied by random numbers in [lower, upper)."""
    for name, value in (("lower", lower), ("upper", upper)):
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise ArgumentTypeError(f"For 'rrelu', '{name}' must be a float or an int, but got {value!r}.")
    if lower > upper:
        raise ArgumentValueError(
            f"For 'rrelu', 'lower' must not be above 'upper', but got {lower} and {upper}."
        )
    return F.rrelu(input, lower, upper, training=True)


@op("ops", accepts=REAL, dtype=SAME)
def threshold(input: Tensor, thr: float, value: float) -> Tensor:
    """Threshold: elements not greater than `thr` become `value`."""
    for name, number in (("thr", thr), ("value", value)):
        if not isinstance(number, (int, float)):
            raise ArgumentTypeError(f"For 'threshold', '{name}' must be a number, but got {number!r}.")
    return F.threshold(input, thr, value)


@op("mint.nn.functional:threshold", accepts=REAL, dtype=SAME)
def threshold_mint(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Threshold: elements not greater than `threshold` become `value`."""
    return F.threshold(input, threshold, value, inplace)


@op("mint.nn.functional", accepts=REAL, dtype=SAME, differentiable=False)
def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """Threshold: elements not greater than `threshold` become `value`, written into `input`."""
    return F.threshold(input, threshold, value, inplace=True)


@op("mint.nn.functional:relu6", accepts=REAL, dtype=SAME)
def relu6_mint(input: Tensor, inplace: bool = False) -> Tensor:
    """ReLU6: each element clamped to [0, 6]."""
    return F.relu6(input, inplace)


@op("mint.nn.functional", accepts=REAL, dtype=SAME, differentiable=False)
def relu_(input: Tensor) -> Tensor:
    """ReLU, written into `input`."""
    return torch.relu_(input)


@op("ops", "Tensor", accepts=FLOATS, dtype=SAME)
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """Hard shrinkage: elements with absolute value at most `lambd` become 0."""
    if isinstance(lambd, bool) or not isinstance(lambd, (int, float)):
        raise ArgumentTypeError(f"For 'hardshrink', 'lambd' must be a number, but got {lambd!r}.")
    return F.hardshrink(input, lambd)


@op("ops", "ops:soft_shrink", "Tensor:soft_shrink", accepts=FLOATS, dtype=SAME)
def softshrink(input: Tensor, lambd: Annotated[float | int, Range(0, float("inf"))] = 0.5) -> Tensor:
    """Soft shrinkage: moves each element towards 0 by `lambd`."""
    return F.softshrink(input, lambd)


@op("ops", dtype=FLOAT)
def tanhshrink(input: Tensor) -> Tensor:
    """Tanh shrinkage: x - tanh(x)."""
    return F.tanhshrink(input)


Elu = primitive("Elu", elu)
SeLU = primitive("SeLU", selu)
CeLU = primitive("CeLU", celu)
PReLU = primitive("PReLU", prelu)
HSwish = primitive("HSwish", hardswish)
HSigmoid = primitive("HSigmoid", hardsigmoid)
Mish = primitive("Mish", mish)
Softplus = primitive("Softplus", softplus_plain)
Softsign = primitive("Softsign", softsign)
GLU = primitive("GLU", glu)
FastGeLU = primitive("FastGeLU", fast_gelu)
HShrink = primitive("HShrink", hardshrink)
SoftShrink = primitive("SoftShrink", softshrink)


export_names(__name__, "ops", FastGelu="FastGeLU")

export_names(__name__, "ops", Gelu="GeLU")  # deprecated spelling

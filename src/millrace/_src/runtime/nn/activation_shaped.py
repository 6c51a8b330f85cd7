"""Activation layers with arguments or weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.mint.activation import LogSoftmaxExt, PReLUExt
from millrace._src.runtime.ops.nn.activation import (
    celu,
    elu,
    gelu,
    glu,
    hardshrink,
    hardtanh,
    leaky_relu,
    prelu,
    rrelu,
    softshrink,
)
from millrace._src.runtime.ops.nn.activation import threshold as threshold_op
from millrace._src.runtime.ops.nn.softmax import log_softmax, softmax, softmin
from millrace._src.runtime.tensor.initializer import initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .activation import ACTIVATIONS, ParameterlessCell
from .argument_types import check_bool, check_number, check_positive_int
from .cell import Cell

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "HShrink",
    "Hardtanh",
    "LeakyReLU",
    "LogSoftmax",
    "PReLU",
    "RReLU",
    "SoftShrink",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Threshold",
]


def _axes(axis: Any, owner: str) -> Any:
    if isinstance(axis, bool) or not isinstance(axis, (int, tuple)):
        raise ArgumentTypeError(
            f"For '{owner}', the type of 'axis' should be one of '[int, tuple of int]', but got {type(axis)}."
        )
    return axis


@public("nn")
class Softmax(Cell):
    """Softmax along an axis.

    >>> Softmax()(Tensor([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: Any = -1) -> None:
        super().__init__()
        self.axis = _axes(axis, "Softmax")

    def construct(self, input: Any) -> Any:
        return softmax(input, self.axis)


@public("nn")
class Softmin(Cell):
    """Softmax of -x along an axis."""

    def __init__(self, axis: Any = -1) -> None:
        super().__init__()
        self.axis = _axes(axis, "Softmin")

    def construct(self, x: Any) -> Any:
        return softmin(x, self.axis)


@public("nn")
class Softmax2d(ParameterlessCell):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def construct(self, input: Any) -> Any:
        if input.ndim not in (3, 4):
            raise ArgumentValueError(
                f"For 'Softmax2d', the in_shape must have 3 or 4 dims, but got {input.ndim}."
            )
        return softmax(input, -3)


@public("nn")
class LogSoftmax(Cell):
    """Logarithm of softmax."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return log_softmax(x, self.axis)


@public("nn")
class ELU(Cell):
    """Exponential linear unit: alpha * (exp(x) - 1) for x < 0, else x. Any `alpha` is allowed; MindSpore
    allows 1.0 only.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = check_number(alpha, "alpha", "ELU")

    def construct(self, x: Any) -> Any:
        return elu(x, self.alpha)


@public("nn")
class CELU(Cell):
    """Continuously differentiable exponential linear unit: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return celu(x, self.alpha)


@public("nn")
class GELU(Cell):
    """Gaussian error linear unit: x times the normal distribution function of x, exact or by the tanh
    approximation.
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = check_bool(approximate, "approximate", "GELU")

    def construct(self, x: Any) -> Any:
        return gelu(x, "tanh" if self.approximate else "none")


@public("nn")
class LeakyReLU(Cell):
    """Leaky ReLU: alpha * x for x < 0, else x."""

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        return leaky_relu(x, self.alpha)


@public("nn")
class PReLU(Cell):
    """Parametric ReLU: w * x for x < 0, else x, with a trainable weight per channel.

    >>> PReLU(2)
    PReLU()
    """

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        check_positive_int(channel, "channel", "PReLU")
        if isinstance(w, (list, Tensor)):
            values = w if isinstance(w, Tensor) else Tensor(np.array(w, np.float32))
            if values.shape != (channel,):
                raise ArgumentValueError(
                    "For 'PReLU', the dimension of 'w' must be 1, and the elements number should be equal to the "
                    f"'channel' when the 'w' is a tensor, but got 'w' shape {values.shape}, the 'channel' {channel}."
                )
            start = values
        elif isinstance(w, float):
            start = initializer(w, (channel,))
        else:
            raise ArgumentTypeError(
                f"For 'PReLU', the 'w' only supported float, list and tensor, but got {type(w).__name__}."
            )
        self.w = Parameter(start, name="a")

    def construct(self, x: Any) -> Any:
        return prelu(x, self.w)


@public("nn")
class RReLU(Cell):
    """Randomized leaky ReLU: the slope for x < 0 is sampled from [`lower`, `upper`]."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower = check_number(lower, "lower", "RReLU")
        self.upper = check_number(upper, "upper", "RReLU")
        if upper < lower:
            raise ArgumentValueError(
                "For RReLU, the value of 'upper' must be greater than or equal to 'lower', "
                f"but got upper: {upper}, lower: {lower}."
            )

    def construct(self, input_x: Any) -> Any:
        return rrelu(input_x, self.lower, self.upper)


@public("nn")
class Hardtanh(Cell):
    """Clamp to [`min_val`, `max_val`]."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = check_number(min_val, "min_val", "Hardtanh")
        self.max_val = check_number(max_val, "max_val", "Hardtanh")
        if min_val >= max_val:
            raise ArgumentValueError(
                f"For Hardtanh, min_val should be less than max_val,but got {min_val} and {max_val}"
            )

    def construct(self, x: Any) -> Any:
        return hardtanh(x, self.min_val, self.max_val)


@public("nn", "mint.nn:Softshrink")
class SoftShrink(Cell):
    """Soft shrinkage: moves each element towards 0 by `lambd`."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def construct(self, input_x: Any) -> Any:
        return softshrink(input_x, self.lambd)


@public("nn", "mint.nn:Hardshrink")
class HShrink(Cell):
    """Hard shrinkage: 0 for elements in [-`lambd`, `lambd`]."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = check_number(lambd, "lambd", "HShrink")

    def construct(self, input_x: Any) -> Any:
        return hardshrink(input_x, self.lambd)


@public("nn")
class Threshold(Cell):
    """x if x > `threshold`, else `value`."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def construct(self, input_x: Any) -> Any:
        return threshold_op(input_x, self.threshold, self.value)


@public("nn")
class GLU(Cell):
    """Gated linear unit: the first half along an axis, times the sigmoid of the second half."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Any) -> Any:
        return glu(x, self.axis)


ACTIVATIONS |= {
    "softmax": Softmax,
    "softmin": Softmin,
    "softmax2d": Softmax2d,
    "logsoftmax": LogSoftmax,
    "logsoftmaxExt": LogSoftmaxExt,
    "elu": ELU,
    "gelu": GELU,
    "leakyrelu": LeakyReLU,
    "prelu": PReLU,
    "preluExt": PReLUExt,
    "rrelu": RReLU,
    "hardtanh": Hardtanh,
    "softshrink": SoftShrink,
    "hshrink": HShrink,
}

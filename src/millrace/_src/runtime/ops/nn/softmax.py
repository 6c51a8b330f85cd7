"""Softmax: softmax, log_softmax, softmin, gumbel_softmax."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "LogSoftmax",
    "LogSoftmaxExt",
    "Softmax",
    "gumbel_softmax",
    "log_softmax",
    "log_softmax_mint",
    "softmax",
    "softmax_along",
    "softmax_mint",
    "softmin",
]


def one_axis(name: str, axis: Any, ndim: int) -> int:
    """Check that the axis is an int within the tensor's axes."""
    if isinstance(axis, tuple) and len(axis) == 1:
        axis = axis[0]
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise ArgumentTypeError(
            f"For '{name}', the type of 'axis' must be int, but got {type(axis).__name__}."
        )
    if not -max(ndim, 1) <= axis < max(ndim, 1):
        raise ArgumentValueError(f"For '{name}', 'axis' must be in range [{-ndim}, {ndim}), but got {axis}.")
    return axis


def usual_axis(dim: int | None, ndim: int) -> int:
    """Axis that PyTorch uses by default."""
    return (0 if ndim in (0, 1, 3) else 1) if dim is None else dim


@op("ops", "Tensor", dtype=UNCHECKED)
def softmax(input: Tensor, axis: int = -1, dtype: Any = None) -> Tensor:
    """Softmax along an axis, computed in `dtype` if it is given."""
    axis = one_axis("softmax", axis, input.ndim)
    if dtype is None and not input.is_floating_point():
        raise ArgumentTypeError(
            "For 'softmax', tensors must be of a floating type; give dtype=mindspore.float32."
        )
    return torch.softmax(input, axis, dtype=dtype)


@op("mint.nn.functional:softmax", dtype=UNCHECKED)
def softmax_mint(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Softmax along an axis."""
    return torch.softmax(input, usual_axis(dim, input.ndim), dtype=dtype)


@op("mint:softmax", dtype=UNCHECKED)
def softmax_along(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Softmax along an axis."""
    return torch.softmax(input, dim, dtype=dtype)


@op("ops", accepts=FLOATS, dtype=SAME)
def log_softmax(logits: Tensor, axis: int = -1) -> Tensor:
    """Logarithm of softmax, computed without overflow."""
    return torch.log_softmax(logits, one_axis("log_softmax", axis, logits.ndim))


@op("mint.nn.functional:log_softmax", "mint.special:log_softmax", dtype=UNCHECKED)
def log_softmax_mint(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """Logarithm of softmax, computed without overflow."""
    return torch.log_softmax(input, usual_axis(dim, input.ndim), dtype=dtype)


@op("ops", dtype=UNCHECKED)
def softmin(x: Tensor, axis: int = -1, dtype: Any = None) -> Tensor:
    """Softmax of the negated elements."""
    axis = one_axis("softmin", axis, x.ndim)
    return torch.softmax(-(x if dtype is None else x.to(dtype)), axis)


@op("ops", accepts=FLOATS, dtype=SAME, random=True)
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Tensor:
    """Differentiable sample of a categorical distribution; `hard` makes it one-hot."""
    if isinstance(tau, bool) or not isinstance(tau, (int, float)):
        raise ArgumentTypeError(f"For 'gumbel_softmax', 'tau' must be a number, but got {tau!r}.")
    if tau <= 0:
        raise ArgumentValueError(f"For 'gumbel_softmax', the 'tau' must be greater than 0, but got {tau}.")
    return F.gumbel_softmax(logits, tau, hard, dim=one_axis("gumbel_softmax", dim, logits.ndim))


Softmax = primitive("Softmax", softmax, init=("axis",), call=("input",))
LogSoftmax = primitive("LogSoftmax", log_softmax)
LogSoftmaxExt = primitive("LogSoftmaxExt", log_softmax_mint, init=())

"""Means and norms of windows."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.registry import op

from .max_pooling import AVG_POOL, avg_pool, check_padding_half_kernel, rescale_divisor
from .sliding_window import expand_per_axis, parse_padding

__all__ = [
    "avg_pool1d",
    "avg_pool1d_mint",
    "avg_pool2d",
    "avg_pool2d_mint",
    "avg_pool3d",
    "avg_pool3d_mint",
    "lp_pool1d",
    "lp_pool2d",
]


def _mean_by_sides(
    name: str,
    x: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil: bool,
    counted: bool,
    divisor: int,
    count: int,
) -> Tensor:
    if isinstance(padding, (tuple, list)) and len(padding) != 2 * count:
        raise ArgumentValueError(f"For {name}, padding should be int or tuple of length {2 * count}.")
    k, s = expand_per_axis(name, "kernel_size", kernel, count), expand_per_axis(name, "stride", stride, count)
    pads = parse_padding(name, padding, count)
    check_padding_half_kernel(name, k, tuple(p for pair in pads for p in pair)[:count])
    return rescale_divisor(avg_pool(name, x, k, s, pads, ceil, counted or bool(divisor)), k, divisor)


@op("ops", accepts=FLOATS, dtype=SAME)
def avg_pool1d(
    input_x: Tensor,
    kernel_size: int = 1,
    stride: int = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L)."""
    for label, value in (("kernel_size", kernel_size), ("stride", stride)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentTypeError(f"For 'avg_pool1d', '{label}' must be an int, but got {value!r}.")
    if isinstance(padding, (tuple, list)) and len(padding) != 1:
        raise ArgumentValueError("For avg_pool1d, padding should be int or tuple of length 1.")
    around = padding[0] if isinstance(padding, (tuple, list)) else padding
    return _mean_by_sides(
        "avg_pool1d", input_x, kernel_size, stride, around, ceil_mode, count_include_pad, 0, 1
    )


@op("ops", accepts=FLOATS, dtype=SAME)
def avg_pool2d(
    input_x: Tensor,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The mean of each window of (N, C, H, W)."""
    return _mean_by_sides(
        "avg_pool2d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2
    )


@op("ops", accepts=FLOATS, dtype=SAME)
def avg_pool3d(
    input_x: Tensor,
    kernel_size: Any = 1,
    stride: Any = 1,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
) -> Tensor:
    """The mean of each window of (N, C, D, H, W)."""
    return _mean_by_sides(
        "avg_pool3d", input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3
    )


@op("mint.nn.functional:avg_pool1d", accepts=FLOATS, dtype=SAME)
def avg_pool1d_mint(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L) or (C, L)."""
    return F.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@op("mint.nn.functional:avg_pool2d", accepts=FLOATS, dtype=SAME)
def avg_pool2d_mint(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, H, W) or (C, H, W)."""
    return F.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op("mint.nn.functional:avg_pool3d", accepts=FLOATS, dtype=SAME)
def avg_pool3d_mint(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, D, H, W) or (C, D, H, W)."""
    return F.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op("ops", accepts=FLOATS, dtype=SAME)
def lp_pool1d(
    x: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window of (N, C, L): the root of the sum of powers."""
    return _root("lp_pool1d", x, norm_type, kernel_size, stride, ceil_mode, 1)


@op("ops", accepts=FLOATS, dtype=SAME)
def lp_pool2d(
    x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """The norm of each window of (N, C, H, W): the root of the sum of powers."""
    return _root("lp_pool2d", x, norm_type, kernel_size, stride, ceil_mode, 2)


def _root(
    name: str, x: Tensor, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool, count: int
) -> Tensor:
    if isinstance(norm_type, bool) or not isinstance(norm_type, (int, float)):
        raise ArgumentTypeError(f"For '{name}', 'norm_type' must be a number, but got {norm_type!r}.")
    if norm_type == 0:
        raise ArgumentValueError(f"For '{name}', 'norm_type' must not be 0.")
    kernel = expand_per_axis(name, "kernel_size", kernel_size, count)
    steps = kernel if stride is None else expand_per_axis(name, "stride", stride, count)
    whole = 1
    for k in kernel:
        whole *= k
    made = AVG_POOL[count](x.pow(norm_type), kernel, steps, 0, ceil_mode, True) * whole
    return made.pow(1.0 / norm_type)

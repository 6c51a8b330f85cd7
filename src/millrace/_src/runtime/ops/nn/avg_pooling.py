"""Average and Lp pooling: avg_pool2d, lp_pool2d."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.conv import _apply_padding, _restore_rank, _short
from millrace._src.runtime.ops.nn.max_pooling import (
    _check_fit,
    _check_rank,
    _needs_ceil_mode,
    _resolve_pad_mode,
    check_padding_half_kernel,
)
from millrace._src.runtime.ops.nn.sliding_window import (
    Padding,
    apply_asymmetric_padding,
    channels_first,
    channels_last,
)

from .sliding_window import expand_per_axis, parse_padding

__all__ = [
    "AvgPool",
    "AvgPool3D",
    "avg_pool1d",
    "avg_pool1d_mint",
    "avg_pool2d",
    "avg_pool2d_mint",
    "avg_pool3d",
    "avg_pool3d_mint",
    "avg_pool3d_of",
    "avg_pool_nd",
    "avg_pool_primitive",
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
    """Average pooling of (N, C, L)."""
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
    """Average pooling of (N, C, H, W)."""
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
    """Average pooling of (N, C, D, H, W)."""
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
    """Average pooling of (N, C, L) or (C, L)."""
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
    """Average pooling of (N, C, H, W) or (C, H, W)."""
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
    """Average pooling of (N, C, D, H, W) or (C, D, H, W)."""
    return F.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op("ops", accepts=FLOATS, dtype=SAME)
def lp_pool1d(
    x: Tensor, norm_type: float, kernel_size: int, stride: int | None = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average pooling of (N, C, L): the root of the sum of powers of each window."""
    return _lp_pool("lp_pool1d", x, norm_type, kernel_size, stride, ceil_mode, 1)


@op("ops", accepts=FLOATS, dtype=SAME)
def lp_pool2d(
    x: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Tensor:
    """Power-average pooling of (N, C, H, W): the root of the sum of powers of each window."""
    return _lp_pool("lp_pool2d", x, norm_type, kernel_size, stride, ceil_mode, 2)


def _lp_pool(
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
    powers = AVG_POOL[count](x.pow(norm_type), kernel, steps, 0, ceil_mode, True) * whole
    return powers.pow(1.0 / norm_type)


AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def avg_pool(
    name: str,
    x: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pads: Padding,
    ceil: bool,
    counted: bool,
) -> Tensor:
    """Average pooling; `counted` determines whether padding counts as elements."""
    count = len(kernel)
    _check_rank(name, x.shape, count + 2)
    _check_fit(name, x.shape, kernel, pads)
    if all(before == after for before, after in pads):
        return AVG_POOL[count](x, kernel, stride, tuple(p for p, _ in pads), ceil, counted)
    over = None if counted else _needs_ceil_mode(pads, stride)
    if over is not None:
        return AVG_POOL[count](x, kernel, stride, over, True, False)
    filled, left = apply_asymmetric_padding(x, pads)
    averages = AVG_POOL[count](filled, kernel, stride, left, ceil, True)
    if counted:
        return averages
    ones, _ = apply_asymmetric_padding(torch.ones((1, 1, *x.shape[2:]), dtype=x.dtype, device=x.device), pads)
    return averages / AVG_POOL[count](ones, kernel, stride, left, ceil, True)


@op(accepts=FLOATS, dtype=SAME)
def avg_pool_primitive(
    x: Tensor, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "VALID", data_format: str = "NCHW"
) -> Tensor:
    """Average pooling of (N, C, H, W); padding is not counted."""
    _check_rank("AvgPool", x.shape, 4)
    x = channels_first(x, data_format)
    window = _resolve_pad_mode("AvgPool", x, kernel_size, strides, pad_mode, 2)
    return channels_last(avg_pool("AvgPool", x, *window, False, False), data_format)


@op(accepts=FLOATS, dtype=SAME)
def avg_pool3d_of(
    x: Tensor,
    kernel_size: Any = 1,
    strides: Any = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int = 0,
    data_format: str = "NCDHW",
) -> Tensor:
    """Average pooling of (N, C, D, H, W)."""
    _check_rank("AvgPool3D", x.shape, 5)
    kernel, stride, pads = _resolve_pad_mode("AvgPool3D", x, kernel_size, strides, pad_mode, 3, pad)
    return rescale_divisor(
        avg_pool(
            "AvgPool3D", x, kernel, stride, pads, ceil_mode, True if divisor_override else count_include_pad
        ),
        kernel,
        divisor_override,
    )


def rescale_divisor(mean: Tensor, kernel: tuple[int, ...], divisor: int) -> Tensor:
    """Rescale a mean to another divisor than the number of elements in the window."""
    if not divisor:
        return mean
    whole = 1
    for k in kernel:
        whole *= k
    return mean * (whole / divisor)


AvgPool = primitive("AvgPool", avg_pool_primitive)
AvgPool3D = primitive("AvgPool3D", avg_pool3d_of)


@op(accepts=FLOATS, dtype=SAME)
def avg_pool_nd(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    ceil_mode: bool = False,
    counted: bool = False,
    divisor: int = 0,
    data_format: str = "NCHW",
) -> Tensor:
    """Average pooling; one axis is computed as the second of two."""
    name = f"AvgPool{count}d"
    channels_first_input = channels_first(x, data_format)
    wide, around = _apply_padding(name, channels_first_input, count, pad_mode, pads, kernel, stride)
    _short(name, kernel, around)
    averages = avg_pool(name, wide, kernel, stride, around, ceil_mode, counted or bool(divisor))
    return channels_last(
        _restore_rank(channels_first_input, rescale_divisor(averages, kernel, divisor), count), data_format
    )

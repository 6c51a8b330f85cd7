"""Max pooling: max_pool2d, MaxPoolWithArgmax, MindSpore's padding modes."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.conv import _apply_padding, _restore_rank, _short

from .sliding_window import (
    Padding,
    apply_asymmetric_padding,
    channels_first,
    channels_last,
    check_pad_mode,
    compute_padding,
    expand_per_axis,
    parse_padding,
)

__all__ = [
    "MaxPool",
    "MaxPool3D",
    "MaxPool3DWithArgmax",
    "MaxPoolWithArgmax",
    "MaxPoolWithArgmaxV2",
    "max_pool2d",
    "max_pool2d_argmax",
    "max_pool2d_mint",
    "max_pool3d",
    "max_pool3d_argmax",
    "max_pool3d_of",
    "max_pool_argmax",
    "max_pool_nd",
    "max_pool_primitive",
    "max_pool_with_indices",
]

_MAX = {2: torch.max_pool2d, 3: torch.max_pool3d}

_MAX_POOL = {2: F.max_pool2d, 3: F.max_pool3d}


def _check_rank(name: str, shape: tuple[int, ...], ndim: int) -> None:
    if len(shape) != ndim:
        raise ArgumentValueError(
            f"For '{name}', the input must have {ndim} axes, but its shape is {list(shape)}."
        )


@functools.lru_cache(maxsize=1024)
def _fits(sizes: tuple[int, ...], kernel: tuple[int, ...], pads: Padding) -> bool:
    return all(
        size + before + after >= k for size, k, (before, after) in zip(sizes, kernel, pads, strict=True)
    )


def _check_fit(name: str, shape: tuple[int, ...], kernel: tuple[int, ...], pads: Padding) -> None:
    if not _fits(shape[2:], kernel, pads):
        raise ArgumentValueError(
            f"For '{name}', the window {kernel} must fit into the input and its padding, but the input's shape is "
            f"{list(shape)}."
        )


@functools.lru_cache(maxsize=1024)
def _needs_ceil_mode(pads: Padding, stride: tuple[int, ...]) -> tuple[int, ...] | None:
    """Whether PyTorch's ceil mode can produce the last windows of "same" padding. That is so if only the odd element
    of padding is at the end; the input is not copied then.
    """
    if all(
        after - before in (0, 1) and (after == before or s > 1) for (before, after), s in zip(pads, stride)
    ):
        return tuple(before for before, _ in pads)
    return None


@functools.lru_cache(maxsize=4096)
def _ceil_mode_padding(
    name: str,
    shape: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pads: Padding,
    ceil: bool,
) -> tuple[tuple[int, ...] | None, bool]:
    """Padding for PyTorch, if it can express it, and whether its ceil mode is used; checked once."""
    _check_rank(name, shape, len(kernel) + 2)
    _check_fit(name, shape, kernel, pads)
    over = _needs_ceil_mode(pads, stride)
    return over, over is not None and (ceil or any(before != after for before, after in pads))


def max_pool(
    name: str, x: Tensor, kernel: tuple[int, ...], stride: tuple[int, ...], pads: Padding, ceil: bool = False
) -> Tensor:
    """Max pooling; padding is never the maximum."""
    count = len(kernel)
    over, hangs = _ceil_mode_padding(name, x.shape, kernel, stride, pads, ceil)
    if over is not None:
        return _MAX[count](x, kernel, stride, over, 1, hangs)
    least = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
    x, left = apply_asymmetric_padding(x, pads, least)
    return _MAX[count](x, kernel, stride, left, 1, ceil)


def _resolve_pad_mode(
    name: str, x: Tensor, kernel_size: Any, strides: Any, pad_mode: Any, count: int, pad_list: Any = None
) -> tuple[tuple[int, ...], tuple[int, ...], Padding]:
    """Kernel, stride and padding from the arguments of a class."""
    kernel, stride = (
        expand_per_axis(name, "kernel_size", kernel_size, count),
        expand_per_axis(name, "strides", strides, count),
    )
    known = ("valid", "same") if pad_list is None else ("valid", "same", "pad")
    way = check_pad_mode(name, pad_mode, known, fold=True)
    pad = parse_padding(name, 0 if pad_list is None else pad_list, count)
    return kernel, stride, compute_padding(name, way, pad, tuple(x.shape[2:]), kernel, stride, (1,) * count)


@op(accepts=REAL, dtype=SAME)
def max_pool_primitive(
    input: Tensor, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
) -> Tensor:
    """Max pooling of (N, C, H, W)."""
    _check_rank("MaxPool", input.shape, 4)
    x = channels_first(input, data_format)
    return channels_last(
        max_pool("MaxPool", x, *_resolve_pad_mode("MaxPool", x, kernel_size, strides, pad_mode, 2)),
        data_format,
    )


@op(accepts=REAL, dtype=SAME)
def max_pool3d_of(
    x: Tensor,
    kernel_size: Any = 1,
    strides: Any = 1,
    pad_mode: str = "VALID",
    pad_list: Any = 0,
    ceil_mode: bool | None = None,
    data_format: str = "NCDHW",
) -> Tensor:
    """Max pooling of (N, C, D, H, W)."""
    _check_rank("MaxPool3D", x.shape, 5)
    if ceil_mode is not None and check_pad_mode("MaxPool3D", pad_mode, fold=True) != "pad":
        raise ArgumentValueError(
            "For 'MaxPool3D', when the 'pad_mode' is 'same' or 'valid', 'ceil_mode' must be None."
        )
    window = _resolve_pad_mode("MaxPool3D", x, kernel_size, strides, pad_mode, 3, pad_list)
    return max_pool("MaxPool3D", x, *window, bool(ceil_mode))


@op(accepts=FLOATS, dtype=UNCHECKED)
def max_pool_argmax(
    x: Tensor, kernel_size: Any = 1, strides: Any = 1, pad_mode: str = "valid", data_format: str = "NCHW"
) -> tuple[Tensor, Tensor]:
    """Max pooling with the index of each maximum within the sample."""
    _check_rank("MaxPoolWithArgmax", x.shape, 4)
    x = channels_first(x, data_format)
    kernel, stride, pads = _resolve_pad_mode("MaxPoolWithArgmax", x, kernel_size, strides, pad_mode, 2)
    _check_fit("MaxPoolWithArgmax", x.shape, kernel, pads)
    filled, left = apply_asymmetric_padding(x, pads, float("-inf"))
    values, where = F.max_pool2d(filled, kernel, stride, left, return_indices=True)
    width = x.shape[3]
    if filled is not x:
        rows, columns = where // filled.shape[3] - pads[0][0], where % filled.shape[3] - pads[1][0]
        where = rows * width + columns
    channel = torch.arange(x.shape[1], device=x.device).reshape(-1, 1, 1) * (x.shape[2] * width)
    return channels_last(values, data_format), channels_last((where + channel).to(torch.int32), data_format)


# --- functions --------------------------------------------------------------------------------------------------


def check_padding_half_kernel(name: str, kernel: tuple[int, ...], padding: tuple[int, ...]) -> None:
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ArgumentValueError(
            f"For '{name}', 'padding' must be no more than half of the 'kernel_size', but got {padding} and {kernel}."
        )


def _max_pool_with_indices(
    name: str,
    x: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    count: int,
) -> tuple[Tensor, Tensor]:
    _check_rank(name, x.shape, count + 2)
    kernel = expand_per_axis(name, "kernel_size", kernel_size, count)
    steps = kernel if stride is None else expand_per_axis(name, "stride", stride, count)
    around = expand_per_axis(name, "padding", padding, count, 0)
    check_padding_half_kernel(name, kernel, around)
    dilated = expand_per_axis(name, "dilation", dilation, count)
    if not x.is_floating_point():  # PyTorch returns indices for floating dtypes only
        values, where = _MAX_POOL[count](
            x.double(), kernel, steps, around, dilated, ceil_mode, return_indices=True
        )
        return values.to(x.dtype), where
    result: tuple[Tensor, Tensor] = _MAX_POOL[count](
        x, kernel, steps, around, dilated, ceil_mode, return_indices=True
    )
    return result


@op("ops", accepts=REAL, dtype=UNCHECKED)
def max_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    return_indices: Any = False,
    ceil_mode: bool = False,
) -> Any:
    """Max pooling of (N, C, H, W), optionally with the index of each maximum within the plane."""
    result = _max_pool_with_indices("max_pool2d", x, kernel_size, stride, padding, dilation, ceil_mode, 2)
    return result if return_indices else result[0]


@op("ops", accepts=REAL, dtype=UNCHECKED)
def max_pool3d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: Any = False,
) -> Any:
    """Max pooling of (N, C, D, H, W), optionally with the index of each maximum."""
    result = _max_pool_with_indices("max_pool3d", x, kernel_size, stride, padding, dilation, ceil_mode, 3)
    return result if return_indices else result[0]


@op(accepts=REAL, dtype=UNCHECKED)
def max_pool2d_argmax(
    x: Tensor,
    kernel_size: Any,
    strides: Any = None,
    pads: Any = 0,
    dilation: Any = (1, 1),
    ceil_mode: bool = False,
    argmax_type: Any = torch.int64,
) -> tuple[Tensor, Tensor]:
    """Max pooling of (N, C, H, W), with the index of each maximum within the plane."""
    values, where = _max_pool_with_indices(
        "MaxPoolWithArgmaxV2", x, kernel_size, strides, pads, dilation, ceil_mode, 2
    )
    return values, where.to(argmax_type)


@op(accepts=REAL, dtype=UNCHECKED)
def max_pool3d_argmax(
    x: Tensor,
    ksize: Any,
    strides: Any,
    pads: Any,
    dilation: Any = (1, 1, 1),
    ceil_mode: bool = False,
    data_format: str = "NCDHW",
    argmax_type: Any = torch.int64,
) -> tuple[Tensor, Tensor]:
    """Max pooling of (N, C, D, H, W), with the index of each maximum."""
    values, where = _max_pool_with_indices(
        "MaxPool3DWithArgmax", x, ksize, strides, pads, dilation, ceil_mode, 3
    )
    return values, where.to(argmax_type)


@op("mint.nn.functional:max_pool2d", accepts=REAL, dtype=UNCHECKED)
def max_pool2d_mint(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: Any = False,
) -> Any:
    """Max pooling, optionally with the index of each maximum."""
    return F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


MaxPool = primitive("MaxPool", max_pool_primitive)
MaxPool3D = primitive("MaxPool3D", max_pool3d_of)
MaxPoolWithArgmax = primitive("MaxPoolWithArgmax", max_pool_argmax)
MaxPoolWithArgmaxV2 = primitive("MaxPoolWithArgmaxV2", max_pool2d_argmax)
MaxPool3DWithArgmax = primitive("MaxPool3DWithArgmax", max_pool3d_argmax)


@op(accepts=REAL, dtype=SAME)
def max_pool_nd(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
) -> Tensor:
    """Max pooling; one axis is computed as the second of two."""
    name = f"MaxPool{count}d"
    channels_first_input = channels_first(x, data_format)
    wide, around = _apply_padding(name, channels_first_input, count, pad_mode, pads, kernel, stride)
    return channels_last(
        _restore_rank(channels_first_input, max_pool(name, wide, kernel, stride, around, ceil_mode), count),
        data_format,
    )


@op(accepts=REAL, dtype=UNCHECKED)
def max_pool_with_indices(
    x: Tensor,
    count: int,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    pads: Padding,
    dilation: tuple[int, ...],
    ceil_mode: bool = False,
    return_indices: bool = False,
    data_format: str = "NCHW",
) -> Any:
    """Max pooling, optionally with the index of each maximum within the channel."""
    name = f"MaxPool{count}d"
    channels_first_input = channels_first(x, data_format)
    wide, around = _apply_padding(name, channels_first_input, count, "pad", pads, kernel, stride)
    _short(name, kernel, around)
    function: Any = F.max_pool3d if count == 3 else F.max_pool2d
    even = tuple(before for before, _ in around)
    if not return_indices:
        pooled = _restore_rank(
            channels_first_input, function(wide, kernel, stride, even, dilation, ceil_mode), count
        )
        return channels_last(pooled, data_format)
    result = function(wide, kernel, stride, even, dilation, ceil_mode, return_indices=True)
    return tuple(
        channels_last(_restore_rank(channels_first_input, part, count), data_format) for part in result
    )

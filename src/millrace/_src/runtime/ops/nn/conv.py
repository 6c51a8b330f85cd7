"""Convolution: conv1d, conv2d, conv3d, depthwise convolution."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .sliding_window import (
    Padding,
    channels_first,
    channels_last,
    channels_last_hint,
    check_pad_mode,
    check_same_dtype,
    compute_padding,
    expand_per_axis,
    parse_padding,
    split_asymmetric_padding,
)

__all__ = [
    "Conv2D",
    "Conv3D",
    "DepthwiseConv2dNative",
    "conv1d",
    "conv1d_mint",
    "conv2d",
    "conv2d_mint",
    "conv2d_primitive",
    "conv3d",
    "conv3d_mint",
    "conv3d_primitive",
    "conv_nd",
    "depthwise_conv2d_primitive",
]

_PLAIN = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}


def conv_forward(
    name: str,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Any,
    pad_mode: Any,
    padding: Padding,
    dilation: Any,
    groups: int,
) -> Tensor:
    """Convolution over as many axes as the weight has."""
    if stride.__class__ is list:
        stride = tuple(stride)
    if dilation.__class__ is list:
        dilation = tuple(dilation)
    check_same_dtype(name, x, weight)
    mode = check_pad_mode(name, pad_mode)
    function, steps, left, uneven, dilated = _conv_plan(
        name, x.shape, weight.shape, stride, mode, padding, dilation, groups
    )
    return function(x if uneven is None else F.pad(x, uneven), weight, bias, steps, left, dilated, groups)


@functools.lru_cache(maxsize=4096, typed=True)
def _conv_plan(
    name: str,
    shape: tuple[int, ...],
    weight: tuple[int, ...],
    stride: Any,
    pad_mode: str,
    padding: Padding,
    dilation: Any,
    groups: int,
) -> tuple[Any, ...]:
    """Function to call for tensors of these shapes, with strides, padding and dilation in PyTorch's form. Checked and
    computed once per combination.
    """
    count = len(weight) - 2
    if len(shape) != len(weight):
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 2} axes like the weight, but its shape is {list(shape)}."
            + (
                " Is it one row without a batch? dataset.batch(n), or x.expand_dims(0)."
                if len(shape) == count + 1
                else ""
            )
        )
    if shape[1] != weight[1] * groups:
        raise OperationError(
            f"For '{name}', the channels of the input divided by 'group' must be those of the weight: "
            f"{weight[1]}, but got {shape[1]} channels and group {groups}. The input's shape is {list(shape)}."
            + (channels_last_hint(count) if shape[-1] == weight[1] * groups else "")
        )
    steps, dilated = (
        expand_per_axis(name, "stride", stride, count),
        expand_per_axis(name, "dilation", dilation, count),
    )
    pads = compute_padding(name, pad_mode, padding, shape[2:], weight[2:], steps, dilated)
    return (_PLAIN[count], steps, *split_asymmetric_padding(pads), dilated)


def _padding_per_axis(name: str, padding: Any, count: int) -> Padding:
    """Padding of the functions: one number for all axes, or one per axis."""
    if isinstance(padding, (tuple, list)) and len(padding) != count:
        raise ArgumentValueError(
            f"For '{name}', 'padding' must be a tuple or list of {count} integers, but got {padding}."
        )
    return tuple((p, p) for p in expand_per_axis(name, "padding", padding, count, 0))


@op("ops", accepts=FLOATS, dtype=SAME)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """1-D convolution of (N, C, L)."""
    per_axis_padding = _padding_per_axis("conv1d", padding, 1)
    return conv_forward("conv1d", input, weight, bias, stride, pad_mode, per_axis_padding, dilation, groups)


@op("ops", accepts=FLOATS, dtype=SAME)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """2-D convolution of (N, C, H, W); `pad_mode` is "valid", "same", or "pad" with `padding`."""
    per_axis_padding = _padding_per_axis("conv2d", padding, 2)
    return conv_forward("conv2d", input, weight, bias, stride, pad_mode, per_axis_padding, dilation, groups)


@op("ops", accepts=FLOATS, dtype=SAME)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    pad_mode: str = "valid",
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """3-D convolution of (N, C, D, H, W)."""
    per_axis_padding = _padding_per_axis("conv3d", padding, 3)
    return conv_forward("conv3d", input, weight, bias, stride, pad_mode, per_axis_padding, dilation, groups)


@op("mint.nn.functional:conv1d", accepts=FLOATS, dtype=SAME)
def conv1d_mint(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """1-D convolution of (N, C, L) or (C, L)."""
    return F.conv1d(input, weight, bias, stride, padding, dilation, groups)


@op("mint.nn.functional:conv2d", "mint:conv2d", accepts=FLOATS, dtype=SAME)
def conv2d_mint(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """2-D convolution of (N, C, H, W) or (C, H, W)."""
    if input.shape[-3] != weight.shape[1] * groups:
        raise ArgumentValueError(
            f"For 'conv2d', in_channels/groups must be equal weight[1], but the shapes are {list(input.shape)} and "
            f"{list(weight.shape)} with {groups} groups."
        )
    return F.conv2d(input, weight, bias, stride, padding, dilation, groups)


@op("mint.nn.functional:conv3d", accepts=FLOATS, dtype=SAME)
def conv3d_mint(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """3-D convolution of (N, C, D, H, W) or (C, D, H, W)."""
    return F.conv3d(input, weight, bias, stride, padding, dilation, groups)


# --- primitives -------------------------------------------------------------------------------------------------


def _check_weight_shape(name: str, weight: Tensor, out_channel: int, kernel: tuple[int, ...]) -> None:
    """Check that the weight has the shape that the constructor's arguments define."""
    if tuple(weight.shape[2:]) != kernel or weight.shape[0] != out_channel:
        raise OperationError(
            f"For '{name}', the weight must have {out_channel} output channels and the kernel {kernel}, but its shape "
            f"is {list(weight.shape)}."
        )


def _conv_from_primitive(
    name: str,
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Any,
    pad_mode: str,
    pad: Any,
    stride: Any,
    dilation: Any,
    group: int,
    data_format: str,
) -> Tensor:
    """Shared implementation of Conv2D and Conv3D."""
    count = weight.ndim - 2
    x, weight = channels_first(x, data_format), channels_first(weight, data_format)
    kernel = expand_per_axis(name, "kernel_size", kernel_size, count)
    padding = parse_padding(name, pad, count)
    _check_weight_shape(name, weight, out_channel, kernel)
    output = conv_forward(name, x, weight, None, stride, pad_mode, padding, dilation, group)
    return channels_last(output, data_format)


@op(accepts=FLOATS, dtype=SAME)
def conv2d_primitive(
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """2-D convolution; NHWC works on the CPU too."""
    return _conv_from_primitive(
        "Conv2D", x, weight, out_channel, kernel_size, pad_mode, pad, stride, dilation, group, data_format
    )


@op(accepts=FLOATS, dtype=SAME)
def conv3d_primitive(
    x: Tensor,
    weight: Tensor,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCDHW",
) -> Tensor:
    """3-D convolution."""
    return _conv_from_primitive(
        "Conv3D", x, weight, out_channel, kernel_size, pad_mode, pad, stride, dilation, group, data_format
    )


@op(accepts=FLOATS, dtype=SAME)
def depthwise_conv2d_primitive(
    x: Tensor,
    weight: Tensor,
    channel_multiplier: int,
    kernel_size: Any,
    mode: int = 3,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
) -> Tensor:
    """Depthwise 2-D convolution: each channel separately. The weight is (channel_multiplier, C, H, W)."""
    name = "DepthwiseConv2dNative"
    if weight.ndim != 4 or weight.shape[0] != 1:
        raise ArgumentValueError(
            f"For '{name}', the batch of 'weight' must be 1, but got {list(weight.shape)}."
        )
    padding = parse_padding(name, pad, 2)
    expand_per_axis(name, "kernel_size", kernel_size, 2)
    one = weight.transpose(0, 1)
    return conv_forward(name, x, one, None, stride, pad_mode, padding, dilation, weight.shape[1])


Conv2D = primitive("Conv2D", conv2d_primitive)
Conv3D = primitive("Conv3D", conv3d_primitive)
DepthwiseConv2dNative = primitive("DepthwiseConv2dNative", depthwise_conv2d_primitive)


def _run_as_2d(name: str, x: Tensor, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Run a 2-D function on 1-D input: MindSpore's 1-D layers hold 2-D weights."""
    if x.ndim != 3:
        raise ArgumentValueError(
            f"For '{name}', the input must have 3 axes, but its shape is {list(x.shape)}."
        )
    return function(x.unsqueeze(2)).squeeze(2)


@op(accepts=FLOATS, dtype=SAME)
def conv_nd(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    dilation: tuple[int, ...],
    group: int,
    data_format: str = "NCHW",
    one: bool = False,
) -> Tensor:
    """Convolution; `one` means that the weight has two axes for one of the input."""
    if one:
        return _run_as_2d(
            "Conv1d",
            x,
            lambda wide: conv_forward("Conv1d", wide, weight, bias, stride, pad_mode, pads, dilation, group),
        )
    name = f"Conv{weight.ndim - 2}d"
    if weight.ndim == 5 and x.ndim == 5 and x.shape[1] != weight.shape[1] * group:
        raise ArgumentValueError(
            f"For 'Conv3d', the input must have {weight.shape[1] * group} channels, but its shape is {list(x.shape)}."
        )
    if data_format == "NCHW":
        return conv_forward(name, x, weight, bias, stride, pad_mode, pads, dilation, group)
    x, weight = channels_first(x, data_format), channels_first(weight, data_format)
    return channels_last(
        conv_forward(name, x, weight, bias, stride, pad_mode, pads, dilation, group), data_format
    )


def _apply_padding(
    name: str, x: Tensor, count: int, pad_mode: str, pads: Padding, kernel: Any, stride: Any
) -> tuple[Tensor, Padding]:
    """Input with a batch axis, and the padding around it."""
    if x.ndim not in (count + 1, count + 2):
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 1} or {count + 2} axes, but its shape is {list(x.shape)}."
        )
    wide = x if x.ndim == count + 2 else x.unsqueeze(0)
    wide = wide.unsqueeze(2) if count == 1 else wide
    return wide, compute_padding(
        name, pad_mode, pads, tuple(wide.shape[2:]), kernel, stride, (1,) * len(kernel)
    )


def _restore_rank(x: Tensor, output: Tensor, count: int) -> Tensor:
    output = output.squeeze(2) if count == 1 else output
    return output if x.ndim == count + 2 else output.squeeze(0)


def _short(name: str, kernel: tuple[int, ...], pads: Padding) -> None:
    if any(before + after > k for (before, after), k in zip(pads, kernel, strict=True)):
        raise ArgumentValueError(
            f"For '{name}', the padding of both sides must be no longer than the kernel, but got {pads} and {kernel}."
        )

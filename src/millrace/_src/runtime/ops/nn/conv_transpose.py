"""Transposed convolution: conv_transpose2d, conv3d_transpose."""

from __future__ import annotations

import functools
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.nn.conv import _check_weight_shape, _run_as_2d
from millrace._src.runtime.ops.nn.sliding_window import (
    Padding,
    channels_first,
    channels_last,
    check_pad_mode,
    check_same_dtype,
    compute_padding,
    expand_per_axis,
    parse_padding,
)

__all__ = [
    "Conv2DBackpropInput",
    "Conv2DTranspose",
    "Conv3DTranspose",
    "conv2d_backprop_input",
    "conv3d_transpose",
    "conv3d_transpose_primitive",
    "conv_transpose2d",
    "conv_transpose_nd",
]


_TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Tensor:
    """2-D transposed convolution."""
    return F.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


@functools.lru_cache(maxsize=1024)
def _transpose_padding(
    wanted: tuple[int, ...], full: tuple[int, ...], pads: Padding, stride: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """PyTorch's padding and output padding for the given output sizes, if there are such."""
    even = tuple(before for before, _ in pads)
    extra = tuple(w - (f - 2 * p) for w, f, p in zip(wanted, full, even, strict=True))
    fits = all(0 <= e < s for e, s in zip(extra, stride, strict=True))
    return (even, extra) if fits else None


def conv_transpose_forward(
    name: str,
    dout: Tensor,
    weight: Tensor,
    wanted: tuple[int, ...],
    pads: Padding,
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Tensor:
    """Transposed convolution with outputs of sizes `wanted`: the input gradient of a convolution with these pads."""
    count = weight.ndim - 2
    if dout.ndim != weight.ndim or dout.shape[1] != weight.shape[0]:
        raise ArgumentValueError(
            f"For '{name}', the input must have {count + 2} axes and as many channels as the weight has outputs, but "
            f"their shapes are {list(dout.shape)} and {list(weight.shape)}."
        )
    check_same_dtype(name, dout, weight)
    full = tuple(
        (o - 1) * s + d * (k - 1) + 1
        for o, s, d, k in zip(dout.shape[2:], stride, dilation, weight.shape[2:], strict=True)
    )
    known = _transpose_padding(wanted, full, pads, stride)
    if known is not None:
        even, extra = known
        return _TRANSPOSED[count](dout, weight, None, stride, even, extra, groups, dilation)
    output = _TRANSPOSED[count](dout, weight, None, stride, 0, 0, groups, dilation)
    cut: list[int] = []
    for size, have, (before, _) in zip(reversed(wanted), reversed(full), reversed(pads), strict=True):
        cut += [-before, size - have + before]
    return F.pad(output, cut)


@op(accepts=FLOATS, dtype=SAME)
def conv2d_backprop_input(
    out_backprop: Tensor,
    filter: Tensor,
    input_sizes: Any,
    out_channel: int,
    kernel_size: Any,
    pad_mode: str = "valid",
    pad: Any = 0,
    pad_list: Any = None,
    mode: int = 1,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    data_format: str = "NCHW",
) -> Tensor:
    """Transposed 2-D convolution: a tensor of the shape `input_sizes`."""
    name = "Conv2DBackpropInput"
    if isinstance(input_sizes, Tensor):
        input_sizes = tuple(to_python_list(input_sizes))
    if not isinstance(input_sizes, (tuple, list)) or len(input_sizes) != 4:
        raise ArgumentTypeError(
            f"For '{name}', 'input_sizes' must be a tuple of 4 ints, but got {input_sizes!r}."
        )
    kernel = expand_per_axis(name, "kernel_size", kernel_size, 2)
    steps, dilated = (
        expand_per_axis(name, "stride", stride, 2),
        expand_per_axis(name, "dilation", dilation, 2),
    )
    _check_weight_shape(name, filter, filter.shape[0], kernel)
    nhwc = data_format == "NHWC"
    wanted = tuple(input_sizes[1:3] if nhwc else input_sizes[2:])
    way = check_pad_mode(name, pad_mode)
    padding = parse_padding(name, pad_list if pad_list is not None and way == "pad" else pad, 2)
    pads = compute_padding(name, way, padding, wanted, kernel, steps, dilated)
    dout = channels_first(out_backprop, data_format)
    for size, o, s, d, k, (before, after) in zip(
        wanted, dout.shape[2:], steps, dilated, kernel, pads, strict=True
    ):
        if (size + before + after - d * (k - 1) - 1) // s + 1 != o:
            raise OperationError(
                f"For '{name}', a convolution of sizes {list(wanted)} does not give {list(dout.shape[2:])} with kernel "
                f"{kernel}, stride {steps}, dilation {dilated} and pad_mode '{pad_mode}': correct 'input_sizes'."
            )
    return channels_last(
        conv_transpose_forward(name, dout, filter, wanted, pads, steps, dilated, group), data_format
    )


@op(accepts=FLOATS, dtype=SAME)
def conv3d_transpose_primitive(
    dout: Tensor,
    weight: Tensor,
    in_channel: int,
    out_channel: int,
    kernel_size: Any,
    mode: int = 1,
    pad_mode: str = "valid",
    pad: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
    data_format: str = "NCDHW",
) -> Tensor:
    """Transposed 3-D convolution."""
    name = "Conv3DTranspose"
    expand_per_axis(name, "kernel_size", kernel_size, 3)
    if dout.ndim != 5 or weight.ndim != 5:
        raise ArgumentValueError(
            f"For '{name}', input and weight must have 5 axes, but got {list(dout.shape)}."
        )
    steps, dilated = (
        expand_per_axis(name, "stride", stride, 3),
        expand_per_axis(name, "dilation", dilation, 3),
    )
    extra = expand_per_axis(name, "output_padding", output_padding, 3, 0)
    way = check_pad_mode(name, pad_mode)
    padding = parse_padding(name, pad, 3)
    kernel = tuple(weight.shape[2:])
    if way == "same":
        wanted = tuple(o * s for o, s in zip(dout.shape[2:], steps, strict=True))
    else:
        wanted = tuple(
            (o - 1) * s + d * (k - 1) + 1 - before - after + e
            for o, s, d, k, (before, after), e in zip(
                dout.shape[2:], steps, dilated, kernel, padding, extra, strict=True
            )
        )
    pads = compute_padding(name, way, padding, wanted, kernel, steps, dilated)
    return conv_transpose_forward(name, dout, weight, wanted, pads, steps, dilated, group)


@op("ops", accepts=FLOATS, dtype=SAME)
def conv3d_transpose(
    inputs: Tensor,
    weight: Tensor,
    pad_mode: str = "valid",
    padding: Any = 0,
    stride: Any = 1,
    dilation: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
) -> Tensor:
    """3-D transposed convolution."""
    return conv3d_transpose_primitive.raw(
        inputs,
        weight,
        1,
        1,
        tuple(weight.shape[2:]),
        1,
        pad_mode,
        padding,
        stride,
        dilation,
        group,
        output_padding,
    )


_INPUT = tuple(
    n
    for n in conv2d_backprop_input.op.signature.parameters
    if n not in ("out_backprop", "filter", "input_sizes")
)


Conv2DBackpropInput = primitive("Conv2DBackpropInput", conv2d_backprop_input, init=_INPUT)
Conv2DTranspose = primitive("Conv2DTranspose", conv2d_backprop_input, init=_INPUT)
Conv3DTranspose = primitive("Conv3DTranspose", conv3d_transpose_primitive)


@op(accepts=FLOATS, dtype=SAME)
def conv_transpose_nd(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    pad_mode: str,
    pads: Padding,
    dilation: tuple[int, ...],
    group: int,
    extra: tuple[int, ...],
    one: bool = False,
) -> Tensor:
    """Transposed convolution; `extra` extends the output."""
    if one:
        return _run_as_2d(
            "Conv1dTranspose",
            x,
            lambda wide: conv_transpose_nd.raw(
                wide, weight, bias, stride, pad_mode, pads, dilation, group, extra
            ),
        )
    name = f"Conv{weight.ndim - 2}dTranspose"
    if x.ndim != weight.ndim:
        raise ArgumentValueError(
            f"For '{name}', the input must have {weight.ndim} axes, but its shape is {list(x.shape)}."
        )
    if x.shape[1] != weight.shape[0]:
        raise (OperationError if weight.ndim == 4 else ArgumentValueError)(
            f"For '{name}', the input must have {weight.shape[0]} channels, but its shape is {list(x.shape)}."
        )
    sizes, kernel = x.shape[2:], tuple(weight.shape[2:])
    after, inside = (extra, (0,) * len(extra)) if weight.ndim == 4 else ((), extra)
    wanted = tuple(
        _output_length(pad_mode, n, s, d * (k - 1) + 1) - begin - end + e
        for n, s, d, k, (begin, end), e in zip(sizes, stride, dilation, kernel, pads, inside, strict=True)
    )
    around = compute_padding(name, pad_mode, pads, wanted, kernel, stride, dilation)
    output = conv_transpose_forward(name, x, weight, wanted, around, stride, dilation, group)
    if bias is not None:
        output = output + bias.reshape(-1, *(1,) * (x.ndim - 2))
    # over two axes MindSpore pads the result with zeros
    return F.pad(output, (0, after[1], 0, after[0])) if any(after) else output


def _output_length(pad_mode: str, size: int, stride: int, kernel_extent: int) -> int:
    """Length of the output before its padding is cropped."""
    if pad_mode == "same":
        return size * stride
    return (size - 1) * stride + (max(kernel_extent, stride) if pad_mode == "valid" else kernel_extent)

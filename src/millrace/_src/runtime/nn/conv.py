"""Convolution layers over one, two and three axes."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.nn import conv
from millrace._src.runtime.tensor.initializer import HeUniform, Uniform, fan_in_and_fan_out, initializer
from millrace._src.runtime.tensor.parameter import Parameter

from .argument_types import (
    check_argument_type,
    check_bool,
    check_choice,
    check_int,
    check_positive_int,
    check_shape,
    ints_per_axis,
)
from .cell import Cell

__all__ = ["Conv1d", "Conv2d", "Conv3d"]

MODES = ["valid", "same", "pad"]


class _ConvNd(Cell):
    """Base class of convolutions: weight, bias, stride and padding."""

    is_1d = False  # a 1-D convolution is computed in 2-D, with a 4-D weight

    def _make(
        self,
        count: int,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        pad_mode: str,
        padding: Any,
        dilation: tuple[int, ...],
        group: int,
        has_bias: bool,
        weight_init: Any,
        bias_init: Any,
        data_format: str,
        dtype: DType,
        transposed: bool = False,
    ) -> None:
        owner = type(self).__name__
        self.in_channels = check_positive_int(in_channels, "in_channels", owner)
        self.out_channels = check_positive_int(out_channels, "out_channels", owner)
        self.kernel_size, self.stride, self.dilation = kernel_size, stride, dilation
        self.group = check_positive_int(group, "group", owner)
        self.pad_mode = check_choice(pad_mode, "pad_mode", owner, MODES)
        self.padding, self.pads = padding, _parse_padding(owner, padding, count)
        self.has_bias = check_bool(has_bias, "has_bias", owner)
        self.data_format = data_format
        if in_channels % group or out_channels % group:
            raise ArgumentValueError(
                "The argument 'group' should be divisible by 'in_channels' and 'out_channels', but got "
                f"group:{group}, in_channels:{in_channels}, out_channels:{out_channels}."
            )
        if pad_mode != "pad" and any(before or after for before, after in self.pads):
            raise ArgumentValueError(
                f"For '{owner}', the 'padding' must be zero when 'pad_mode' is not 'pad', but got 'padding': {padding} "
                f"and 'pad_mode': {pad_mode}. Pass pad_mode='pad'."
            )
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (first, second // group, *kernel_size)
        inputs, _ = fan_in_and_fan_out(shape)
        if data_format == "NHWC":
            shape = (first, *kernel_size, second // group)
        self.weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        check_shape(weight_init, shape, "weight_init", owner)
        self.weight = Parameter(initializer(self.weight_init, shape, dtype), name="weight")
        self.bias_init, self.bias = bias_init, None
        if has_bias:
            self.bias_init = Uniform(1 / math.sqrt(inputs)) if bias_init is None else bias_init
            check_shape(bias_init, (out_channels,), "bias_init", owner)
            self.bias = Parameter(initializer(self.bias_init, (out_channels,), dtype), name="bias")

    def construct(self, x: Any) -> Any:
        return conv.conv_nd(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.pads,
            self.dilation,
            self.group,
            self.data_format,
            self.is_1d,
        )

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}, weight_init={_format_init(self.weight_init)}, "
            f"bias_init={_format_init(self.bias_init)}, format={self.data_format}"
        )


def _format_init(init: Any) -> str:
    return f"Tensor(shape={init.shape})" if isinstance(init, Tensor) else str(init)


def _parse_padding(owner: str, padding: Any, count: int) -> tuple[tuple[int, int], ...]:
    """The padding before and after each axis, from one int or two per axis."""
    values = padding if isinstance(padding, tuple) else (padding,) * (2 * count)
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ArgumentTypeError(
                f"For '{owner}', the type of 'padding' must be int or tuple(int), but got {padding!r}."
            )
    if len(values) != 2 * count or min(values) < 0:
        raise ArgumentValueError(
            f"For '{owner}', the 'padding' must be an int or a tuple of {2 * count} ints, none below 0, "
            f"but got {padding}."
        )
    return tuple(zip(values[::2], values[1::2], strict=True))


def as_2d_arguments(
    owner: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, ...], tuple[int, int]]:
    """Kernel size, stride, padding and dilation of a 1-D layer as those of a 2-D layer."""
    for name, value in (("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation)):
        check_int(value, name, owner, 1)
    check_argument_type(padding, "padding", owner, int)
    return (1, kernel_size), (1, stride), (0, 0, padding, padding), (1, dilation)


@public("nn")
class Conv1d(_ConvNd):
    """1-D convolution over (N, C, L).

    >>> Conv1d(2, 4, 3)(Tensor(shape=(1, 2, 8), dtype=mstype.float32, init="ones")).shape
    (1, 4, 8)
    """

    is_1d = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        pad_mode: str = "same",
        padding: int = 0,
        dilation: int = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        window, steps, around, dilated = as_2d_arguments("Conv1d", kernel_size, stride, padding, dilation)
        self._make(
            2, in_channels, out_channels, window, steps, pad_mode, around, dilated, group, has_bias, weight_init,
            bias_init, "NCHW", dtype,
        )  # fmt: skip


@public("nn")
class Conv2d(_ConvNd):
    """2-D convolution over (N, C, H, W); "NHWC" works on every device.

    >>> Conv2d(3, 8, 3, stride=2)(Tensor(shape=(1, 3, 7, 7), dtype=mstype.float32, init="ones")).shape
    (1, 8, 4, 4)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        check_choice(data_format, "format", "Conv2d", ["NCHW", "NHWC"])
        self._make(
            2, in_channels, out_channels, ints_per_axis(kernel_size, 2, "kernel_size", "Conv2d"),
            ints_per_axis(stride, 2, "stride", "Conv2d"), pad_mode, padding,
            ints_per_axis(dilation, 2, "dilation", "Conv2d"),
            group, has_bias, weight_init, bias_init, data_format, dtype,
        )  # fmt: skip


@public("nn")
class Conv3d(_ConvNd):
    """3-D convolution over (N, C, D, H, W)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        check_choice(data_format, "format", "Conv3d", ["NCDHW"])
        self._make(
            3, in_channels, out_channels, ints_per_axis(kernel_size, 3, "kernel_size", "Conv3d"),
            ints_per_axis(stride, 3, "stride", "Conv3d"), pad_mode, padding,
            ints_per_axis(dilation, 3, "dilation", "Conv3d"),
            group, has_bias, weight_init, bias_init, data_format, dtype,
        )  # fmt: skip

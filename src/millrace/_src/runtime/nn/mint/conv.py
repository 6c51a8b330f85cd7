"""Convolution layers of ``mint.nn``."""

from __future__ import annotations

import math
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.nn.argument_types import (
    check_bool,
    check_choice,
    check_positive_int,
    ints_per_axis,
)
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.pad import pad
from millrace._src.runtime.ops.nn import conv
from millrace._src.runtime.ops.nn.conv_transpose import conv_transpose2d
from millrace._src.runtime.tensor.initializer import HeUniform, Uniform, fan_in_and_fan_out, initializer
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d"]

MODES = ["zeros", "reflect", "replicate", "circular"]
CALLS: dict[int, Any] = {1: conv.conv1d_mint, 2: conv.conv2d_mint, 3: conv.conv3d_mint}


class _MintConvNd(Cell):
    """Base class of the convolutions."""

    num_spatial_dims, is_transposed = 2, False

    def _make(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        bias: bool,
        padding_mode: str,
        dtype: DType | None,
    ) -> None:
        owner, count = type(self).__name__, self.num_spatial_dims
        self.in_channels = check_positive_int(in_channels, "in_channels", owner)
        self.out_channels = check_positive_int(out_channels, "out_channels", owner)
        self.groups = check_positive_int(groups, "groups", owner)
        if in_channels % groups or out_channels % groups:
            raise ArgumentValueError(
                f"For '{owner}', 'groups' must divide 'in_channels' and 'out_channels', but got groups: {groups}, "
                f"in_channels: {in_channels}, out_channels: {out_channels}."
            )
        self.kernel_size = ints_per_axis(kernel_size, count, "kernel_size", owner)
        self.stride, self.dilation = (
            ints_per_axis(stride, count, "stride", owner),
            ints_per_axis(dilation, count, "dilation", owner),
        )
        self.padding_mode = check_choice(padding_mode, "padding_mode", owner, MODES)
        if isinstance(padding, str):
            self.padding: Any = check_choice(padding, "padding", owner, ["valid", "same"])
        else:
            self.padding = ints_per_axis(padding, count, "padding", owner, 0)
        self.has_bias = check_bool(bias, "bias", owner)
        first, second = (in_channels, out_channels) if self.is_transposed else (out_channels, in_channels)
        shape, weight_dtype = (first, second // groups, *self.kernel_size), dtype or mstype.float32
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)), shape, weight_dtype), name="weight")
        bound = 1 / math.sqrt(fan_in_and_fan_out(shape)[0])
        self.bias = (
            Parameter(initializer(Uniform(bound), (out_channels,), weight_dtype), name="bias")
            if bias
            else None
        )
        # padding widths for the padding modes that copy elements of the input
        around = self.padding
        if around == "same":
            total_padding = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            self.margin = tuple(
                w for total in reversed(total_padding) for w in (total // 2, total - total // 2)
            )
        elif around == "valid":
            self.margin = (0,) * (2 * count)
        else:
            self.margin = tuple(p for p in reversed(around) for _ in range(2))

    def construct(self, input: Any) -> Any:
        around = self.padding
        if self.padding_mode != "zeros":
            input, around = pad(input, self.margin, self.padding_mode), 0
        return CALLS[self.num_spatial_dims](
            input, self.weight, self.bias, self.stride, around, self.dilation, self.groups
        )

    def extend_repr(self) -> str:
        return (
            f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, padding={self.padding}, dilation={self.dilation}, groups={self.groups}, "
            f"bias={self.has_bias}"
        )


@public("mint.nn")
class Conv1d(_MintConvNd):
    """1-D convolution over (N, C, L) or (C, L)."""

    num_spatial_dims = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self._make(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            dtype,
        )


@public("mint.nn")
class Conv2d(Conv1d):
    """2-D convolution over (N, C, H, W) or (C, H, W).

    >>> Conv2d(3, 4, 3).weight.shape
    (4, 3, 3, 3)
    """

    num_spatial_dims = 2


@public("mint.nn")
class Conv3d(Conv1d):
    """3-D convolution over (N, C, D, H, W) or (C, D, H, W)."""

    num_spatial_dims = 3


@public("mint.nn")
class ConvTranspose2d(_MintConvNd):
    """2-D transposed convolution."""

    is_transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        check_choice(padding_mode, "padding_mode", "ConvTranspose2d", ["zeros"])
        self._make(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            dtype,
        )
        self.output_padding = ints_per_axis(output_padding, 2, "output_padding", "ConvTranspose2d", 0)

    def construct(self, input: Any) -> Any:
        return conv_transpose2d(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )

"""Transposed convolution layers over one, two and three axes."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.nn import conv_transpose

from .argument_types import check_choice, ints_per_axis
from .conv import _ConvNd, as_2d_arguments

__all__ = ["Conv1dTranspose", "Conv2dTranspose", "Conv3dTranspose"]


class _ConvTransposeNd(_ConvNd):
    """Base class of transposed convolutions."""

    output_padding: tuple[int, ...] = (0, 0)

    def construct(self, x: Any) -> Any:
        return conv_transpose.conv_transpose_nd(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.pad_mode,
            self.pads,
            self.dilation,
            self.group,
            self.output_padding,
            self.is_1d,
        )

    def _output_padding(self, output_padding: Any, count: int) -> None:
        owner = type(self).__name__
        self.output_padding = ints_per_axis(output_padding, count, "output_padding", owner, 0)
        if any(self.output_padding) and self.pad_mode != "pad":
            raise ArgumentValueError(
                f"For '{owner}', 'output_padding' must be 0 when 'pad_mode' is not 'pad', but got {output_padding} and "
                f"{self.pad_mode!r}."
            )
        if any(
            e >= max(s, d) for e, s, d in zip(self.output_padding, self.stride, self.dilation, strict=True)
        ):
            raise ArgumentValueError(
                f"For '{owner}', output_padding must be in range of [0, max(stride, dilation)), "
                f"but got {output_padding}."
            )


@public("nn")
class Conv1dTranspose(_ConvTransposeNd):
    """1-D transposed convolution over (N, C, L)."""

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
        window, steps, around, dilated = as_2d_arguments(
            "Conv1dTranspose", kernel_size, stride, padding, dilation
        )
        self._make(
            2, in_channels, out_channels, window, steps, pad_mode, around, dilated, group, has_bias, weight_init,
            bias_init, "NCHW", dtype, transposed=True,
        )  # fmt: skip


@public("nn")
class Conv2dTranspose(_ConvTransposeNd):
    """2-D transposed convolution over (N, C, H, W).

    >>> from millrace import Tensor
    >>> Conv2dTranspose(3, 8, 4, stride=2)(
    ...     Tensor(shape=(1, 3, 5, 5), dtype=mstype.float32, init="ones")
    ... ).shape
    (1, 8, 10, 10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = "Conv2dTranspose"
        self._make(
            2, in_channels, out_channels, ints_per_axis(kernel_size, 2, "kernel_size", owner),
            ints_per_axis(stride, 2, "stride", owner), pad_mode, padding, ints_per_axis(dilation, 2, "dilation", owner),
            group, has_bias, weight_init, bias_init, "NCHW", dtype, transposed=True,
        )  # fmt: skip
        self._output_padding(output_padding, 2)


@public("nn")
class Conv3dTranspose(_ConvTransposeNd):
    """3-D transposed convolution over (N, C, D, H, W)."""

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
        output_padding: Any = 0,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCDHW",
        dtype: DType = mstype.float32,
    ) -> None:
        super().__init__()
        owner = "Conv3dTranspose"
        check_choice(data_format, "format", owner, ["NCDHW"])
        self._make(
            3, in_channels, out_channels, ints_per_axis(kernel_size, 3, "kernel_size", owner),
            ints_per_axis(stride, 3, "stride", owner), pad_mode, padding, ints_per_axis(dilation, 3, "dilation", owner),
            group, has_bias, weight_init, bias_init, data_format, dtype, transposed=True,
        )  # fmt: skip
        self._output_padding(output_padding, 3)

"""Pooling layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn.avg_pooling import avg_pool1d_mint, avg_pool2d_mint, avg_pool3d_mint
from millrace._src.runtime.ops.nn.max_pooling import max_pool2d_mint

__all__ = ["AvgPool1dExt", "AvgPool2dExt", "AvgPool3dExt", "MaxPool2dExt"]


@public("nn", "mint.nn:AvgPool1d")
class AvgPool1dExt(Cell):
    """AvgPool1d with PyTorch's arguments."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding, ceil_mode, count_include_pad)

    def construct(self, input: Any) -> Any:
        return avg_pool1d_mint(input, *self.arguments)


@public("nn", "mint.nn:AvgPool2d")
class AvgPool2dExt(Cell):
    """AvgPool2d with PyTorch's arguments."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def construct(self, input: Any) -> Any:
        return avg_pool2d_mint(input, *self.arguments)


@public("nn", "mint.nn:AvgPool3d")
class AvgPool3dExt(AvgPool2dExt):
    """AvgPool3d with PyTorch's arguments."""

    def construct(self, input: Any) -> Any:
        return avg_pool3d_mint(input, *self.arguments)


@public("nn", "mint.nn:MaxPool2d")
class MaxPool2dExt(Cell):
    """MaxPool2d with PyTorch's arguments."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def construct(self, input: Any) -> Any:
        return max_pool2d_mint(input, *self.arguments)

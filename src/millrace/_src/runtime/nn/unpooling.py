"""Max unpooling layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _MaxUnpoolNd(Cell):
    """Base class of max unpooling layers."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


@public("nn")
class MaxUnpool1d(_MaxUnpoolNd):
    """Max unpooling over one axis: maxima at their indices, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


@public("nn", "mint.nn")
class MaxUnpool2d(_MaxUnpoolNd):
    """Max unpooling over two axes: maxima at their indices, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


@public("nn")
class MaxUnpool3d(_MaxUnpoolNd):
    """Max unpooling over three axes: maxima at their indices, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

"""Max unpooling layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn.unpooling import max_unpool1d, max_unpool2d, max_unpool3d

__all__ = ["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]


class _MaxUnpoolNd(Cell):
    """What the layers that undo a pool share."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


@public("nn")
class MaxUnpool1d(_MaxUnpoolNd):
    """Each maximum of a pool over one axis at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


@public("nn", "mint.nn")
class MaxUnpool2d(_MaxUnpoolNd):
    """Each maximum of a pool over two axes at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


@public("nn")
class MaxUnpool3d(_MaxUnpoolNd):
    """Each maximum of a pool over three axes at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)

"""Pooling to a wanted size, by norms, undone, and with windows at random places."""

from __future__ import annotations

from typing import Any

from millrace._src.runtime.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    fractional_max_pool2d,
    fractional_max_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from millrace._src.runtime.ops.nn.avg_pooling import lp_pool1d, lp_pool2d

from .argument_types import check_int, check_kind
from .cell import Cell

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class AdaptiveAvgPool1d(Cell):
    """Means of as many equal parts of the last axis as wanted."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        check_kind(output_size, "output_size", "AdaptiveAvgPool1d", int)
        self.output_size = check_int(output_size, "output_size", "AdaptiveAvgPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool1d(input, self.output_size)


class AdaptiveMaxPool1d(Cell):
    """Maxima of as many equal parts of the last axis as wanted."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = check_int(output_size, "output_size", "AdaptiveMaxPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(Cell):
    """Means of as many parts of the last two axes as wanted; None leaves an axis as it is.

    >>> from millrace import Tensor
    >>> AdaptiveAvgPool2d(1)(Tensor([[[1.0, 2.0], [3.0, 6.0]]])).tolist()
    [[[3.0]]]
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(Cell):
    """Means of as many parts of the last three axes as wanted; None leaves an axis as it is."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool2d(Cell):
    """Maxima of as many parts of the last two axes as wanted, and their places if wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(Cell):
    """Maxima of as many parts of the last three axes as wanted, and their places if wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)


class LPPool1d(Cell):
    """The norm of each window of (N, C, L)."""

    def __init__(
        self, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.arguments = (norm_type, kernel_size, stride, ceil_mode)

    def construct(self, x: Any) -> Any:
        return lp_pool1d(x, *self.arguments)


class LPPool2d(Cell):
    """The norm of each window of (N, C, H, W)."""

    def __init__(
        self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.arguments = (norm_type, kernel_size, stride, ceil_mode)

    def construct(self, x: Any) -> Any:
        return lp_pool2d(x, *self.arguments)


class _MaxUnpoolNd(Cell):
    """What the layers that undo a pool share."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding


class MaxUnpool1d(_MaxUnpoolNd):
    """Each maximum of a pool over one axis at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool1d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Each maximum of a pool over two axes at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool2d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Each maximum of a pool over three axes at its place, 0 elsewhere."""

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        return max_unpool3d(x, indices, self.kernel_size, self.stride, self.padding, output_size)


class _FractionalMaxPoolNd(Cell):
    """What the pools with windows at random places share."""

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        # MindSpore lets the size win where both are given
        ratio = None if output_size is not None else output_ratio
        self.arguments = (kernel_size, output_size, ratio, return_indices, _random_samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Maxima of windows over two axes whose places are drawn."""

    def construct(self, input: Any) -> Any:
        return fractional_max_pool2d(input, *self.arguments)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Maxima of windows over three axes whose places are drawn."""

    def construct(self, input: Any) -> Any:
        return fractional_max_pool3d(input, *self.arguments)

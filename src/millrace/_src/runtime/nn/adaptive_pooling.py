"""Adaptive pooling layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.ops.nn.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
)

from .argument_types import check_argument_type, check_int
from .cell import Cell

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]


@public("nn")
class AdaptiveAvgPool1d(Cell):
    """Adaptive average pooling over the last axis to `output_size`."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        check_argument_type(output_size, "output_size", "AdaptiveAvgPool1d", int)
        self.output_size = check_int(output_size, "output_size", "AdaptiveAvgPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool1d(input, self.output_size)


@public("nn")
class AdaptiveMaxPool1d(Cell):
    """Adaptive max pooling over the last axis to `output_size`."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = check_int(output_size, "output_size", "AdaptiveMaxPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool1d(input, self.output_size)


@public("nn")
class AdaptiveAvgPool2d(Cell):
    """Adaptive average pooling over the last two axes to `output_size`; None keeps an axis.

    >>> from millrace import Tensor
    >>> AdaptiveAvgPool2d(1)(Tensor([[[1.0, 2.0], [3.0, 6.0]]])).tolist()
    [[[3.0]]]
    """

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool2d(input, self.output_size)


@public("nn", "mint.nn")
class AdaptiveAvgPool3d(Cell):
    """Adaptive average pooling over the last three axes to `output_size`; None keeps an axis."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool3d(input, self.output_size)


@public("nn", "mint.nn")
class AdaptiveMaxPool2d(Cell):
    """Adaptive max pooling over the last two axes to `output_size`, optionally with the indices of the
    maxima.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


@public("nn")
class AdaptiveMaxPool3d(Cell):
    """Adaptive max pooling over the last three axes to `output_size`, optionally with the indices of the
    maxima.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)

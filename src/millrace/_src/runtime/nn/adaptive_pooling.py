"""Pooling to a wanted size, by norms, undone, and with windows at random places."""

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

from .argument_types import check_int, check_kind
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
    """Means of as many equal parts of the last axis as wanted."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        check_kind(output_size, "output_size", "AdaptiveAvgPool1d", int)
        self.output_size = check_int(output_size, "output_size", "AdaptiveAvgPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool1d(input, self.output_size)


@public("nn")
class AdaptiveMaxPool1d(Cell):
    """Maxima of as many equal parts of the last axis as wanted."""

    def __init__(self, output_size: int) -> None:
        super().__init__()
        self.output_size = check_int(output_size, "output_size", "AdaptiveMaxPool1d", 1)

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool1d(input, self.output_size)


@public("nn")
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


@public("nn", "mint.nn")
class AdaptiveAvgPool3d(Cell):
    """Means of as many parts of the last three axes as wanted; None leaves an axis as it is."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool3d(input, self.output_size)


@public("nn", "mint.nn")
class AdaptiveMaxPool2d(Cell):
    """Maxima of as many parts of the last two axes as wanted, and their places if wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


@public("nn")
class AdaptiveMaxPool3d(Cell):
    """Maxima of as many parts of the last three axes as wanted, and their places if wanted."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return adaptive_max_pool3d(input, self.output_size, self.return_indices)

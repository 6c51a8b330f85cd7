"""Adaptive pooling layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn import adaptive_pooling as pool_other
from millrace._src.runtime.ops.nn.adaptive_pooling import adaptive_avg_pool2d

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveMaxPool1d"]


@public("mint.nn")
class AdaptiveAvgPool1d(Cell):
    """Adaptive average pooling over the last axis to `output_size`."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def construct(self, input: Any) -> Any:
        return pool_other.adaptive_avg_pool1d_mint(input, self.output_size)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


@public("mint.nn")
class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """Adaptive average pooling over the last two axes to `output_size`; None keeps an axis."""

    def construct(self, input: Any) -> Any:
        return adaptive_avg_pool2d(input, self.output_size)


@public("mint.nn")
class AdaptiveMaxPool1d(Cell):
    """Adaptive max pooling over the last axis to `output_size`, optionally with the indices of the maxima."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def construct(self, input: Any) -> Any:
        return pool_other.adaptive_max_pool1d_mint(input, self.output_size, self.return_indices)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}, return_indices={self.return_indices}"

"""Fold and unfold layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn.fold import fold, unfold

__all__ = ["Fold", "Unfold"]


@public("mint.nn")
class Unfold(Cell):
    """Extract sliding windows of (N, C, H, W) as columns."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.arguments = (kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return unfold(input, *self.arguments)


@public("mint.nn")
class Fold(Cell):
    """Combine columns of sliding windows into (N, C, H, W) by addition."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.arguments = (output_size, kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        return fold(input, *self.arguments)

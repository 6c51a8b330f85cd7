"""Upsampling layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.image import resize

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


@public("mint.nn")
class Upsample(Cell):
    """Resize the input by one of several interpolation modes."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.arguments = (size, scale_factor, mode, align_corners, recompute_scale_factor)

    def construct(self, input: Any) -> Any:
        return resize.interpolate_mint(input, *self.arguments)


@public("mint.nn")
class UpsamplingNearest2d(Upsample):
    """Nearest-neighbor resizing of (N, C, H, W)."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "nearest")


@public("mint.nn")
class UpsamplingBilinear2d(Upsample):
    """Bilinear resizing of (N, C, H, W)."""

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, "bilinear", True)

"""Upsampling layers."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.image.resize import interpolate

__all__ = ["Upsample"]


@public("nn")
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

    def construct(self, x: Any) -> Any:
        return interpolate(x, *self.arguments)

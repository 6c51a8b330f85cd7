"""Grid sampling: grid_sample, affine_grid."""

from __future__ import annotations

from typing import Any

import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AffineGrid",
    "GridSampler2D",
    "GridSampler3D",
    "affine_grid",
    "grid_sample",
    "grid_sample_2d",
    "grid_sample_3d",
]


def _grid_sample(
    name: str, x: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: Any
) -> Tensor:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentValueError(
            f"For '{name}', the mode must be bilinear, nearest or bicubic, but got {mode!r}."
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentValueError(
            f"For '{name}', 'padding_mode' must be zeros, border or reflection, but got {padding_mode!r}."
        )
    if x.ndim not in (4, 5) or grid.ndim != x.ndim or grid.shape[-1] != x.ndim - 2:
        raise ArgumentValueError(
            f"For '{name}', the grid must give {x.ndim - 2} coordinates per element, but the shapes are "
            f"{list(x.shape)} and {list(grid.shape)}."
        )
    return F.grid_sample(x, grid, mode, padding_mode, bool(align_corners))


@op("ops", "mint.nn.functional", accepts=FLOATS, dtype=SAME)
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample the input at the positions of a grid with coordinates in [-1, 1]."""
    return _grid_sample("grid_sample", input, grid, mode, padding_mode, align_corners)


@op(accepts=FLOATS, dtype=SAME)
def grid_sample_2d(
    input_x: Tensor,
    grid: Tensor,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """Sample the input at the positions of a 2-D grid."""
    return _grid_sample("GridSampler2D", input_x, grid, interpolation_mode, padding_mode, align_corners)


@op(accepts=FLOATS, dtype=SAME)
def grid_sample_3d(
    input_x: Tensor,
    grid: Tensor,
    interpolation_mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> Tensor:
    """Sample the input at the positions of a 3-D grid."""
    return _grid_sample("GridSampler3D", input_x, grid, interpolation_mode, padding_mode, align_corners)


@op("ops", accepts=FLOATS, dtype=SAME)
def affine_grid(theta: Tensor, size: Any, align_corners: bool = False) -> Tensor:
    """Sampling grid of an affine transform for a tensor of the shape `size`."""
    if not isinstance(size, (tuple, list)):
        raise ArgumentTypeError(f"For 'affine_grid', 'size' must be a tuple, but got {size!r}.")
    if len(size) not in (4, 5):
        raise ArgumentValueError(
            f"For 'affine_grid', 'size' must have 4 or 5 numbers, but got {tuple(size)}."
        )
    return F.affine_grid(theta, list(size), align_corners)


GridSampler2D = primitive("GridSampler2D", grid_sample_2d)
GridSampler3D = primitive("GridSampler3D", grid_sample_3d)
AffineGrid = primitive("AffineGrid", affine_grid, init=("align_corners",))

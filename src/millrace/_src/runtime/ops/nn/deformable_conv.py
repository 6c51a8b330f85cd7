"""Deformable convolution: deformable_offsets, deformable_conv2d."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["DeformableOffsets", "deformable_conv2d", "deformable_offsets"]


# --- deformable convolution -------------------------------------------------------------------------------------


def _parse_last_two(name: str, label: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, tuple) or not all(isinstance(n, int) for n in value):
        raise ArgumentTypeError(f"For '{name}', '{label}' must be a tuple of ints, but got {value!r}.")
    if len(value) not in (2, 4):
        raise ArgumentValueError(f"For '{name}', '{label}' must have 4 numbers, but got {value}.")
    return value[-2], value[-1]


@op(accepts=FLOATS, dtype=SAME)
def deformable_offsets(
    x: Tensor,
    offsets: Tensor,
    strides: Any,
    pads: Any,
    ksize: Any,
    dilations: Any = (1, 1, 1, 1),
    data_format: str = "NCHW",
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """Sample the elements of every window at offset positions, with weights: (N, C, H' * rows, W' * columns).
    `offsets` holds the horizontal and vertical offset and the weight of each window element.
    """
    name = "DeformableOffsets"
    rows, columns = _parse_last_two(name, "ksize", ksize)
    down, across = _parse_last_two(name, "strides", strides)
    dilate_y, dilate_x = _parse_last_two(name, "dilations", dilations)
    if not isinstance(pads, tuple) or len(pads) != 4:
        raise ArgumentValueError(
            f"For '{name}', 'pads' must be (top, bottom, left, right), but got {pads!r}."
        )
    batch, channels, height, width = x.shape
    high = (height + pads[0] + pads[1] - dilate_y * (rows - 1) - 1) // down + 1
    wide = (width + pads[2] + pads[3] - dilate_x * (columns - 1) - 1) // across + 1
    wanted = (batch, 3 * deformable_groups * rows * columns, high, wide)
    if tuple(offsets.shape) != wanted or channels % deformable_groups:
        raise ArgumentValueError(
            f"For '{name}', 'offsets' must have the shape {wanted}, but got {list(offsets.shape)}."
        )
    right, lower, weight = offsets.reshape(batch, 3, deformable_groups, rows, columns, high, wide).unbind(1)
    at = torch.arange
    y = (at(high, device=x.device) * down - pads[0]).reshape(-1, 1) + lower
    y = y + (at(rows, device=x.device) * dilate_y).reshape(-1, 1, 1, 1)
    x_at = (at(wide, device=x.device) * across - pads[2]) + right
    x_at = x_at + (at(columns, device=x.device) * dilate_x).reshape(-1, 1, 1)
    # (batch * groups, H' * rows, W' * columns): adjacent windows
    order = (0, 1, 4, 2, 5, 3)
    coordinates = torch.stack([(2 * x_at + 1) / width - 1, (2 * y + 1) / height - 1], -1)
    grid = coordinates.permute(*order, 6).reshape(batch * deformable_groups, high * rows, wide * columns, 2)
    sampled = F.grid_sample(
        x.reshape(batch * deformable_groups, -1, height, width),
        grid,
        "bilinear",
        "zeros",
        align_corners=False,
    )
    if modulated:
        sampled = sampled * weight.permute(order).reshape(-1, 1, high * rows, wide * columns)
    return sampled.reshape(batch, channels, high * rows, wide * columns)


@op("ops", accepts=FLOATS, dtype=SAME)
def deformable_conv2d(
    x: Tensor,
    weight: Tensor,
    offsets: Tensor,
    kernel_size: Any,
    strides: Any,
    padding: Any,
    bias: Tensor | None = None,
    dilations: Any = (1, 1, 1, 1),
    groups: int = 1,
    deformable_groups: int = 1,
    modulated: bool = True,
) -> Tensor:
    """Deformable 2-D convolution: window elements are sampled at offset positions."""
    kernel = _parse_last_two("deformable_conv2d", "kernel_size", kernel_size)
    bent = deformable_offsets.raw(
        x, offsets, strides, padding, kernel, dilations, "NCHW", deformable_groups, modulated
    )
    return F.conv2d(bent, weight, bias, kernel, groups=groups)


DeformableOffsets = primitive("DeformableOffsets", deformable_offsets)

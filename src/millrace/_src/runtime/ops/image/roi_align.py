"""Region of interest (RoI) align."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["ROIAlign", "roi_align"]


def _bilinear_weights(at: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two neighbors of each position along an axis, and their weights; both 0 outside."""
    inside = (at >= -1) & (at <= length)
    at = at.clamp(0, length - 1)
    low = at.floor()
    share = at - low
    first = low.long()
    return first, (first + 1).clamp_max(length - 1), (1 - share) * inside, share * inside


# differentiable=False: differentiable by the features (tests/unit/runtime/ops/nn/test_stateful_ops.py), but not by
# the regions.
@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def roi_align(
    features: Tensor,
    rois: Tensor,
    pooled_height: int,
    pooled_width: int,
    spatial_scale: float,
    sample_num: int = 2,
    roi_end_mode: int = 1,
) -> Tensor:
    """RoI align: average samples of regions (image index, x1, y1, x2, y2) of feature maps (N, C, H, W) in
    `pooled_height` by `pooled_width` cells.
    """
    if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ArgumentValueError(
            f"For 'ROIAlign', 'features' must be (N, C, H, W) and 'rois' (M, 5), but the shapes are "
            f"{list(features.shape)} and {list(rois.shape)}."
        )
    height, width = features.shape[2:]
    image_index = rois[:, 0].long().reshape(-1, 1, 1)
    corners = rois[:, 1:].detach().to(features.dtype)
    low = corners[:, :2] * spatial_scale
    size = (corners[:, 2:] + roi_end_mode) * spatial_scale - low
    if roi_end_mode == 0:
        size = size.clamp_min(1)
    cell = size / size.new_tensor((pooled_width, pooled_height))
    if sample_num > 0:
        counts = torch.full_like(cell, sample_num)
        most_x = most_y = sample_num
    else:  # as many samples as a cell has elements: the number must be known on the host
        counts = cell.floor().clamp_min(1)
        most_x, most_y = (int(n) for n in to_python_list(counts.amax(0))) if len(rois) else (1, 1)
    channels_last = features.permute(0, 2, 3, 1)
    rows = torch.arange(pooled_height, device=rois.device)
    columns = torch.arange(pooled_width, device=rois.device)
    pooled = features.new_zeros((rois.shape[0], pooled_height, pooled_width, features.shape[1]))
    for down in range(most_y):
        y = low[:, 1:] + (rows + (down + 0.5) / counts[:, 1:]) * cell[:, 1:]
        for across in range(most_x):
            x = low[:, :1] + (columns + (across + 0.5) / counts[:, :1]) * cell[:, :1]
            used = ((down < counts[:, 1]) & (across < counts[:, 0])).reshape(-1, 1, 1)
            for row, share_y in _neighbor_pairs(_bilinear_weights(y, height)):
                for column, share_x in _neighbor_pairs(_bilinear_weights(x, width)):
                    share = share_y.unsqueeze(2) * share_x.unsqueeze(1) * used
                    pixels = channels_last[image_index, row.unsqueeze(2), column.unsqueeze(1)]
                    pooled = pooled + pixels * share.unsqueeze(-1)
    return (pooled / counts.prod(1).reshape(-1, 1, 1, 1)).permute(0, 3, 1, 2)


def _neighbor_pairs(neighbours: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor], ...]:
    first, second, near, far = neighbours
    return (first, near), (second, far)


ROIAlign = primitive("ROIAlign", roi_align)

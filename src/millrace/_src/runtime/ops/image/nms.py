"""Non-maximum suppression (NMS). A box is (y1, x1, y2, x2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, INT32, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "CombinedNonMaxSuppression",
    "NMSWithMask",
    "NonMaxSuppressionV3",
    "NonMaxSuppressionWithOverlaps",
    "combined_non_max_suppression",
    "nms_keep_mask",
    "nms_with_mask",
    "nms_with_overlaps",
    "non_max_suppression",
]


def _iou_above(boxes: Tensor, threshold: Any) -> Tensor:
    """Whether the IoU of each box (row) with a later one (column) is above the threshold; corners in any order."""
    corner, opposite = boxes[..., :2], boxes[..., 2:]
    low, high = torch.minimum(corner, opposite), torch.maximum(corner, opposite)
    size = (high - low).prod(-1)
    inside = torch.minimum(high.unsqueeze(-2), high.unsqueeze(-3)) - torch.maximum(
        low.unsqueeze(-2), low.unsqueeze(-3)
    )
    common = inside.clamp_min(0).prod(-1)
    return torch.triu(common > threshold * (size.unsqueeze(-1) + size.unsqueeze(-2) - common), 1)


def _to_scalar(name: str, label: str, value: Any) -> Any:
    """Number, given as one or as a tensor of one element."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.reshape(()).item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"For '{name}', '{label}' must be a Tensor of one number, but got {value!r}.")
    return value


@op(dtype=UNCHECKED, differentiable=False)
def non_max_suppression(
    boxes: Tensor, scores: Tensor, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> Tensor:
    """Non-maximum suppression: indices of at most `max_output_size` boxes above the score threshold, by decreasing
    score. A box is dropped if its IoU with a kept box is too large. MindSpore has no CPU kernel.
    """
    name = "NonMaxSuppressionV3"
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise ArgumentValueError(
            f"For '{name}', the boxes must have the shape (N, 4) and the scores (N,), but got {list(boxes.shape)} and "
            f"{list(scores.shape)}."
        )
    most = int(_to_scalar(name, "max_output_size", max_output_size))
    overlap, least = (
        _to_scalar(name, "iou_threshold", iou_threshold),
        _to_scalar(name, "score_threshold", score_threshold),
    )
    if not 0 <= overlap <= 1:
        raise ArgumentValueError(f"For '{name}', 'iou_threshold' must be in [0, 1], but got {overlap}.")
    ordered, order = torch.sort(scores, descending=True, stable=True)
    kept = nms_keep_mask(_iou_above(boxes[order].float(), overlap), ordered > least)
    return order[kept][: max(most, 0)].to(torch.int32)


NonMaxSuppressionV3 = primitive("NonMaxSuppressionV3", non_max_suppression, ())


@op(accepts=None, dtype=UNCHECKED, differentiable=False)
def combined_non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Non-maximum suppression per class, then the best of all classes: boxes, scores, classes, and the number of valid
    ones per row; the rest is 0. Boxes are (batch, N, 1 or classes, 4), scores (batch, N, classes).
    """
    name = "CombinedNonMaxSuppression"
    if boxes.dtype not in FLOATS or scores.dtype not in FLOATS:
        raise ArgumentTypeError(
            f"For '{name}', boxes and scores must be floats, not {boxes.dtype}, {scores.dtype}."
        )
    if boxes.ndim != 4 or scores.ndim != 3 or boxes.shape[:2] != scores.shape[:2] or boxes.shape[3] != 4:
        raise ArgumentValueError(
            f"For '{name}', the boxes must have the shape (B, N, Q, 4) and the scores (B, N, C), but got "
            f"{list(boxes.shape)} and {list(scores.shape)}."
        )
    batch, _, classes = scores.shape
    if boxes.shape[2] not in (1, classes):
        raise ArgumentValueError(
            f"For '{name}', the third size of the boxes must be 1 or {classes}, the number of classes, but got "
            f"{boxes.shape[2]}."
        )
    each = int(_to_scalar(name, "max_output_size_per_class", max_output_size_per_class))
    total = int(_to_scalar(name, "max_total_size", max_total_size))
    overlap, least = (
        _to_scalar(name, "iou_threshold", iou_threshold),
        _to_scalar(name, "score_threshold", score_threshold),
    )
    if each <= 0 or total <= 0 or not 0 <= overlap <= 1:
        raise ArgumentValueError(
            f"For '{name}', the numbers of boxes must be above 0 and 'iou_threshold' in [0, 1], but got {each}, "
            f"{total} "
            f"and {overlap}."
        )
    # (batch, class, N), by decreasing score
    ordered, order = torch.sort(scores.transpose(1, 2), dim=-1, descending=True, stable=True)
    placed = boxes.transpose(1, 2).expand(batch, classes, -1, 4)
    placed = torch.gather(placed, 2, order.unsqueeze(-1).expand(-1, -1, -1, 4))
    kept = nms_keep_mask(_iou_above(placed, overlap), ordered > least)
    kept = kept & (torch.cumsum(kept, -1) <= each)
    count = min(total, each * classes) if pad_per_class else total
    flat = torch.where(kept, ordered, float("-inf")).flatten(1)
    best, position = torch.sort(flat, dim=1, descending=True, stable=True)
    padding = max(0, count - best.shape[1])
    best = torch.nn.functional.pad(best[:, :count], (0, padding), value=float("-inf"))
    position = torch.nn.functional.pad(position[:, :count], (0, padding))
    valid = best > float("-inf")
    selected = torch.gather(placed.flatten(1, 2), 1, position.unsqueeze(-1).expand(-1, -1, 4))
    selected = selected.clamp(0, 1) if clip_boxes else selected
    return (
        torch.where(valid.unsqueeze(-1), selected, 0.0),
        torch.where(valid, best, 0.0),
        torch.where(valid, position // scores.shape[1], 0).to(torch.float32),
        valid.sum(1).to(torch.int32),
    )


CombinedNonMaxSuppression = primitive(
    "CombinedNonMaxSuppression", combined_non_max_suppression, ("pad_per_class", "clip_boxes")
)


@op(dtype=INT32, differentiable=False)
def nms_with_overlaps(
    overlaps: Tensor, scores: Tensor, max_output_size: Any, overlap_threshold: Any, score_threshold: Any
) -> Tensor:
    """Non-maximum suppression with given overlaps: indices of at most `max_output_size` boxes above the score
    threshold, by decreasing score. A box is dropped if its overlap with a kept box is above the threshold.
    """
    if overlaps.ndim != 2 or overlaps.shape[0] != overlaps.shape[1] or scores.shape != overlaps.shape[:1]:
        raise ArgumentValueError(
            f"For 'NonMaxSuppressionWithOverlaps', the shapes must be (N, N) and (N,), but got {list(overlaps.shape)} "
            f"and {list(scores.shape)}."
        )
    order = torch.argsort(scores, descending=True, stable=True)
    kept = scores[order] > score_threshold
    covers = torch.triu(overlaps[order][:, order] > overlap_threshold, 1)
    for index, row in enumerate(covers.unbind(0)):
        kept = kept & ~(row & kept[index])
    selected = order[kept & (kept.cumsum(0) <= max_output_size)]
    return selected.to(torch.int32)


NonMaxSuppressionWithOverlaps = primitive("NonMaxSuppressionWithOverlaps", nms_with_overlaps, init=())


def nms_keep_mask(covers: Tensor, kept: Tensor) -> Tensor:
    """Mask of the sorted boxes that are kept, where `covers` marks for each (row) the later ones that it suppresses.
    Rows are processed in order and no value is read on the host. A suppressed box suppresses no other.
    """
    for index, row in enumerate(covers.unbind(-2)):
        kept = kept & ~(row & kept[..., index : index + 1])
    return kept


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def nms_with_mask(bboxes: Tensor, iou_threshold: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes (x1, y1, x2, y2, score) by decreasing score, their indices in that order, and the mask of kept boxes:
    those whose IoU with every kept box before them is at most the threshold.
    """
    if bboxes.ndim != 2 or bboxes.shape[1] not in (5, 8):
        raise ArgumentValueError(
            f"For 'NMSWithMask', 'bboxes' must have the shape (N, 5), but got {list(bboxes.shape)}."
        )
    scores, order = torch.sort(bboxes[:, 4], descending=True, stable=True)
    sorted_boxes = bboxes[order]
    low, high = (
        torch.minimum(sorted_boxes[:, :2], sorted_boxes[:, 2:4]),
        torch.maximum(sorted_boxes[:, :2], sorted_boxes[:, 2:4]),
    )
    size = (high - low).prod(-1)
    inside = torch.minimum(high.unsqueeze(1), high) - torch.maximum(low.unsqueeze(1), low)
    common = inside.clamp_min(0).prod(-1)
    covers = torch.triu(common > iou_threshold * (size.unsqueeze(1) + size - common), 1)
    kept = nms_keep_mask(covers, torch.ones_like(scores, dtype=torch.bool))
    # MindSpore numbers the boxes in sorted order
    return sorted_boxes, torch.arange(len(scores), dtype=torch.int32, device=bboxes.device), kept


NMSWithMask = primitive("NMSWithMask", nms_with_mask)

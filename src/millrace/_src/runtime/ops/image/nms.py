"""Which of many boxes stay: suppression of those that overlap, and boxes drawn at random. A box is (y1, x1, y2, x2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.rng_state import op_generator

from .boxes import nms_keep_mask

__all__ = [
    "CombinedNonMaxSuppression",
    "NonMaxSuppressionV3",
    "SampleDistortedBoundingBoxV2",
    "combined_suppression",
    "drawn_box",
    "suppression",
]


def _iou_above(boxes: Tensor, threshold: Any) -> Tensor:
    """Whether each box (row) overlaps a later one (column) by more than the threshold; corners in any order."""
    one, other = boxes[..., :2], boxes[..., 2:]
    low, high = torch.minimum(one, other), torch.maximum(one, other)
    size = (high - low).prod(-1)
    inside = torch.minimum(high.unsqueeze(-2), high.unsqueeze(-3)) - torch.maximum(
        low.unsqueeze(-2), low.unsqueeze(-3)
    )
    common = inside.clamp_min(0).prod(-1)
    return torch.triu(common > threshold * (size.unsqueeze(-1) + size.unsqueeze(-2) - common), 1)


def _one(name: str, label: str, value: Any) -> Any:
    """A number, given as one or as a tensor of one."""
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.reshape(()).item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"For '{name}', '{label}' must be a Tensor of one number, but got {value!r}.")
    return value


@op(dtype=UNCHECKED, differentiable=False)
def suppression(
    boxes: Tensor, scores: Tensor, max_output_size: Any, iou_threshold: Any, score_threshold: Any
) -> Tensor:
    """The places of at most so many boxes, by falling score: those above the threshold that no kept box before them
    overlaps too much. MindSpore has no kernel for the CPU."""
    name = "NonMaxSuppressionV3"
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != boxes.shape[:1]:
        raise ArgumentValueError(
            f"For '{name}', the boxes must have the shape (N, 4) and the scores (N,), but got {list(boxes.shape)} and "
            f"{list(scores.shape)}."
        )
    most = int(_one(name, "max_output_size", max_output_size))
    overlap, least = (
        _one(name, "iou_threshold", iou_threshold),
        _one(name, "score_threshold", score_threshold),
    )
    if not 0 <= overlap <= 1:
        raise ArgumentValueError(f"For '{name}', 'iou_threshold' must be in [0, 1], but got {overlap}.")
    ordered, order = torch.sort(scores, descending=True, stable=True)
    kept = nms_keep_mask(_iou_above(boxes[order].float(), overlap), ordered > least)
    return order[kept][: max(most, 0)].to(torch.int32)


NonMaxSuppressionV3 = primitive("NonMaxSuppressionV3", suppression, ())


@op(accepts=None, dtype=UNCHECKED, differentiable=False)
def combined_suppression(
    boxes: Tensor,
    scores: Tensor,
    max_output_size_per_class: Any,
    max_total_size: Any,
    iou_threshold: Any,
    score_threshold: Any,
    pad_per_class: bool = False,
    clip_boxes: bool = True,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Suppression per class, then the best of all classes: boxes, scores, classes, and how many of each row are valid;
    the rest is 0. Boxes are (batch, N, 1 or classes, 4), scores (batch, N, classes)."""
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
    each = int(_one(name, "max_output_size_per_class", max_output_size_per_class))
    total = int(_one(name, "max_total_size", max_total_size))
    overlap, least = (
        _one(name, "iou_threshold", iou_threshold),
        _one(name, "score_threshold", score_threshold),
    )
    if each <= 0 or total <= 0 or not 0 <= overlap <= 1:
        raise ArgumentValueError(
            f"For '{name}', the numbers of boxes must be above 0 and 'iou_threshold' in [0, 1], but got {each}, "
            f"{total} "
            f"and {overlap}."
        )
    # (batch, class, N), by falling score
    ordered, order = torch.sort(scores.transpose(1, 2), dim=-1, descending=True, stable=True)
    placed = boxes.transpose(1, 2).expand(batch, classes, -1, 4)
    placed = torch.gather(placed, 2, order.unsqueeze(-1).expand(-1, -1, -1, 4))
    kept = nms_keep_mask(_iou_above(placed, overlap), ordered > least)
    kept = kept & (torch.cumsum(kept, -1) <= each)
    count = min(total, each * classes) if pad_per_class else total
    flat = torch.where(kept, ordered, float("-inf")).flatten(1)
    best, place = torch.sort(flat, dim=1, descending=True, stable=True)
    room = max(0, count - best.shape[1])
    best = torch.nn.functional.pad(best[:, :count], (0, room), value=float("-inf"))
    place = torch.nn.functional.pad(place[:, :count], (0, room))
    valid = best > float("-inf")
    found = torch.gather(placed.flatten(1, 2), 1, place.unsqueeze(-1).expand(-1, -1, 4))
    found = found.clamp(0, 1) if clip_boxes else found
    return (
        torch.where(valid.unsqueeze(-1), found, 0.0),
        torch.where(valid, best, 0.0),
        torch.where(valid, place // scores.shape[1], 0).to(torch.float32),
        valid.sum(1).to(torch.int32),
    )


CombinedNonMaxSuppression = primitive(
    "CombinedNonMaxSuppression", combined_suppression, ("pad_per_class", "clip_boxes")
)


def _pair(name: str, label: str, value: Any, most: float) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentTypeError(f"For '{name}', '{label}' must be two numbers, but got {value!r}.")
    low, high = value
    if not 0 < low <= high <= most:
        raise ArgumentValueError(
            f"For '{name}', '{label}' must be 0 < low <= high <= {most}, but got {value!r}."
        )
    return float(low), float(high)


@op(dtype=UNCHECKED, differentiable=False, random=True)
def drawn_box(
    image_size: Tensor,
    bounding_boxes: Tensor,
    min_object_covered: Any,
    seed: int = 0,
    seed2: int = 0,
    aspect_ratio_range: Any = (0.75, 1.33),
    area_range: Any = (0.05, 1.0),
    max_attempts: int = 100,
    use_image_if_no_bounding_boxes: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """A box at random for a cut out of an image: begin and size for a slice of (height, width, channels), and the box
    in shares of the image. It covers the wanted share of one of the objects at least; the whole image where no attempt
    gave such a box."""
    name = "SampleDistortedBoundingBoxV2"
    if image_size.shape != (3,):
        raise ArgumentValueError(
            f"For '{name}', 'image_size' must be (height, width, channels), but got {image_size.tolist()}."
        )
    if bounding_boxes.ndim != 3 or bounding_boxes.shape[-1] != 4:
        raise ArgumentValueError(
            f"For '{name}', 'bounding_boxes' must have the shape (B, N, 4), but got {list(bounding_boxes.shape)}."
        )
    narrow, wide = _pair(name, "aspect_ratio_range", aspect_ratio_range, float("inf"))
    small, large = _pair(name, "area_range", area_range, 1.0)
    covered = _one(name, "min_object_covered", min_object_covered)
    objects = bounding_boxes.reshape(-1, 4).double().cpu()
    if not len(objects):
        if not use_image_if_no_bounding_boxes:
            raise ArgumentValueError(
                f"For '{name}', no bounding boxes were given; use_image_if_no_bounding_boxes=True takes the "
                f"whole image."
            )
        objects, covered = torch.tensor([[0.0, 0.0, 1.0, 1.0]], dtype=torch.float64), 0.0
    height, width = (int(side) for side in to_python_list(image_size)[:2])
    draws = torch.rand(
        max_attempts,
        4,
        dtype=torch.float64,
        device="cpu",
        generator=op_generator(seed, seed2, torch.device("cpu")),
    )
    # all attempts at once: the ratio, then a height within the area and the image, then the corner
    ratio = narrow + (wide - narrow) * draws[:, 0]
    area = height * width
    lowest = torch.sqrt(small * area / ratio).round()
    highest = torch.minimum(
        torch.sqrt(large * area / ratio), torch.minimum(width / ratio, torch.full_like(ratio, height))
    )
    tall = (lowest + (highest.floor() - lowest).clamp_min(0) * draws[:, 1]).round().clamp(1, height)
    broad = (tall * ratio).round().clamp(1, width)
    top, left = ((height - tall) * draws[:, 2]).round(), ((width - broad) * draws[:, 3]).round()
    share = tall * broad / area
    made = torch.stack([top / height, left / width, (top + tall) / height, (left + broad) / width], 1)
    inside = torch.minimum(made[:, None, 2:], objects[:, 2:]) - torch.maximum(
        made[:, None, :2], objects[:, :2]
    )
    size = (objects[:, 2:] - objects[:, :2]).clamp_min(0).prod(-1)
    seen = inside.clamp_min(0).prod(-1) >= covered * size
    good = seen.any(1) & (share >= small) & (share <= large)
    if bool(good.any()):
        at = int(good.int().argmax())
        begin, extent, box = (top[at], left[at]), (tall[at], broad[at]), made[at]
    else:
        zero = torch.zeros(())
        begin, extent = (zero, zero), (torch.tensor(height), torch.tensor(width))
        box = torch.tensor([0.0, 0.0, 1.0, 1.0])
    kind = image_size.dtype
    return (
        torch.tensor([int(begin[0]), int(begin[1]), 0], dtype=kind),
        torch.tensor([int(extent[0]), int(extent[1]), -1], dtype=kind),
        box.float().reshape(1, 1, 4),
    )


SampleDistortedBoundingBoxV2 = primitive(
    "SampleDistortedBoundingBoxV2",
    drawn_box,
    (
        "seed",
        "seed2",
        "aspect_ratio_range",
        "area_range",
        "max_attempts",
        "use_image_if_no_bounding_boxes",
    ),
)

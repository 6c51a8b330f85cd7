"""Bounding boxes: IoU, encoding and decoding, sampling of distorted boxes. A box is (x1, y1, x2, y2)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import BOOL, FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.image.nms import _to_scalar
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "BoundingBoxDecode",
    "BoundingBoxEncode",
    "CheckValid",
    "IOU",
    "SampleDistortedBoundingBoxV2",
    "bounding_box_decode",
    "bounding_box_encode",
    "check_valid",
    "iou",
    "sample_distorted_bounding_box",
]


class UnknownMode(ArgumentValueError, KeyError):
    """MindSpore raises KeyError for an unknown mode of IoU."""

    __str__ = ArgumentValueError.__str__


def _check_boxes(name: str, label: str, boxes: Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ArgumentValueError(
            f"For '{name}', '{label}' must have the shape (N, 4), but got {list(boxes.shape)}."
        )


@op("ops", accepts=FLOATS, dtype=SAME, differentiable=False)
def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """Intersection over union of each ground-truth box (row) and each anchor (column), or with "iof" over the
    ground-truth box. Both ends of a box belong to it. As in MindSpore it has no gradient.
    """
    if mode not in ("iou", "iof"):
        raise UnknownMode(f"For 'IOU', only 'iou' or 'iof' are supported, but got 'mode': {mode}.")
    _check_boxes("IOU", "anchor_boxes", anchor_boxes)
    _check_boxes("IOU", "gt_boxes", gt_boxes)
    a, g = anchor_boxes.detach().unsqueeze(0), gt_boxes.detach().unsqueeze(1)
    low, high = torch.maximum(a[..., :2], g[..., :2]), torch.minimum(a[..., 2:], g[..., 2:])
    both = (high - low + 1).clamp_min(0).prod(-1)
    of_truth = (g[..., 2:] - g[..., :2] + 1).prod(-1)
    if mode == "iof":
        return both / of_truth
    return both / ((a[..., 2:] - a[..., :2] + 1).prod(-1) + of_truth - both)


@op("ops", accepts=FLOATS, dtype=SAME)
def bounding_box_encode(
    anchor_box: Tensor,
    groundtruth_box: Tensor,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """Offsets and log scale factors that map each anchor to its ground-truth box."""
    _check_boxes("BoundingBoxEncode", "anchor_box", anchor_box)
    _check_boxes("BoundingBoxEncode", "groundtruth_box", groundtruth_box)
    _numbers("BoundingBoxEncode", means, stds)
    centre, size = _to_center_size(anchor_box)
    towards, wanted = _to_center_size(groundtruth_box)
    deltas = torch.cat([(towards - centre) / size, torch.log(wanted / size)], 1)
    return (deltas - deltas.new_tensor(means)) / deltas.new_tensor(stds)


def _numbers(name: str, means: Any, stds: Any) -> None:
    for label, value in (("means", means), ("stds", stds)):
        if not isinstance(value, tuple) or not all(isinstance(v, float) for v in value):
            raise ArgumentTypeError(f"For '{name}', '{label}' must be a tuple of floats, but got {value!r}.")
        if len(value) != 4:
            raise ArgumentValueError(f"For '{name}', '{label}' must have 4 numbers, but got {value}.")


def _to_center_size(boxes: Tensor) -> tuple[Tensor, Tensor]:
    return (boxes[:, :2] + boxes[:, 2:]) * 0.5, boxes[:, 2:] - boxes[:, :2] + 1


@op("ops", accepts=FLOATS, dtype=SAME)
def bounding_box_decode(
    anchor_box: Tensor,
    deltas: Tensor,
    max_shape: Any,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
    wh_ratio_clip: float = 0.016,
) -> Tensor:
    """Boxes from anchors and the deltas of `bounding_box_encode`, clipped to (height, width)."""
    name = "BoundingBoxDecode"
    _check_boxes(name, "anchor_box", anchor_box)
    _check_boxes(name, "deltas", deltas)
    _numbers(name, means, stds)
    if not isinstance(max_shape, tuple):
        raise ArgumentTypeError(f"For '{name}', 'max_shape' must be a tuple, but got {max_shape!r}.")
    if len(max_shape) != 2:
        raise ArgumentValueError(f"For '{name}', 'max_shape' must be (height, width), but got {max_shape}.")
    moves = deltas * deltas.new_tensor(stds) + deltas.new_tensor(means)
    centre, size = _to_center_size(anchor_box)
    limit = abs(math.log(wh_ratio_clip))
    centre = centre + moves[:, :2] * size
    half = size * torch.exp(moves[:, 2:].clamp(-limit, limit)) * 0.5 - 0.5
    high = deltas.new_tensor((max_shape[1], max_shape[0]))
    corners = [(centre - half), (centre + half)]
    return torch.cat([torch.minimum(corner.clamp_min(0), high) for corner in corners], 1)


@op("ops", dtype=BOOL, differentiable=False)
def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """Whether each box lies inside an image of (height, width) times a ratio."""
    _check_boxes("CheckValid", "bboxes", bboxes)
    if img_metas.shape != (3,):
        raise ArgumentValueError(
            f"For 'CheckValid', 'img_metas' must be (height, width, ratio), but got the shape {list(img_metas.shape)}."
        )
    high = img_metas[:2].flip(0) * img_metas[2] - 1
    return (bboxes[:, :2] >= 0).all(1) & (bboxes[:, 2:] <= high).all(1)


IOU = primitive("IOU", iou)
BoundingBoxEncode = primitive("BoundingBoxEncode", bounding_box_encode)
BoundingBoxDecode = primitive("BoundingBoxDecode", bounding_box_decode)
CheckValid = primitive("CheckValid", check_valid)


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
def sample_distorted_bounding_box(
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
    """Random crop box of an image: begin and size for a slice of (height, width, channels), and the box in relative
    coordinates. It covers at least the given fraction of one of the objects; the whole image if no attempt
    succeeds.
    """
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
    covered = _to_scalar(name, "min_object_covered", min_object_covered)
    objects = bounding_boxes.reshape(-1, 4).double().cpu()
    if not len(objects):
        if not use_image_if_no_bounding_boxes:
            raise ArgumentValueError(
                f"For '{name}', got no bounding boxes. Set use_image_if_no_bounding_boxes=True to use the "
                f"whole image."
            )
        objects, covered = torch.tensor([[0.0, 0.0, 1.0, 1.0]], dtype=torch.float64), 0.0
    height, width = (int(side) for side in to_python_list(image_size)[:2])
    samples = torch.rand(
        max_attempts,
        4,
        dtype=torch.float64,
        device="cpu",
        generator=op_generator(seed, seed2, torch.device("cpu")),
    )
    # all attempts in parallel: the aspect ratio, a height within the area and the image, the corner
    ratio = narrow + (wide - narrow) * samples[:, 0]
    area = height * width
    lowest = torch.sqrt(small * area / ratio).round()
    highest = torch.minimum(
        torch.sqrt(large * area / ratio), torch.minimum(width / ratio, torch.full_like(ratio, height))
    )
    tall = (lowest + (highest.floor() - lowest).clamp_min(0) * samples[:, 1]).round().clamp(1, height)
    broad = (tall * ratio).round().clamp(1, width)
    top, left = ((height - tall) * samples[:, 2]).round(), ((width - broad) * samples[:, 3]).round()
    share = tall * broad / area
    candidates = torch.stack([top / height, left / width, (top + tall) / height, (left + broad) / width], 1)
    inside = torch.minimum(candidates[:, None, 2:], objects[:, 2:]) - torch.maximum(
        candidates[:, None, :2], objects[:, :2]
    )
    size = (objects[:, 2:] - objects[:, :2]).clamp_min(0).prod(-1)
    seen = inside.clamp_min(0).prod(-1) >= covered * size
    good = seen.any(1) & (share >= small) & (share <= large)
    if bool(good.any()):
        at = int(good.int().argmax())
        begin, extent, box = (top[at], left[at]), (tall[at], broad[at]), candidates[at]
    else:
        zero = torch.zeros(())
        begin, extent = (zero, zero), (torch.tensor(height), torch.tensor(width))
        box = torch.tensor([0.0, 0.0, 1.0, 1.0])
    index_dtype = image_size.dtype
    return (
        torch.tensor([int(begin[0]), int(begin[1]), 0], dtype=index_dtype),
        torch.tensor([int(extent[0]), int(extent[1]), -1], dtype=index_dtype),
        box.float().reshape(1, 1, 4),
    )


SampleDistortedBoundingBoxV2 = primitive(
    "SampleDistortedBoundingBoxV2",
    sample_distorted_bounding_box,
    (
        "seed",
        "seed2",
        "aspect_ratio_range",
        "area_range",
        "max_attempts",
        "use_image_if_no_bounding_boxes",
    ),
)

"""Boxes of detection: overlap, suppression, encoding, and regions cut out of maps. A box is (x1, y1, x2, y2)."""

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

__all__ = [
    "IOU",
    "BoundingBoxDecode",
    "BoundingBoxEncode",
    "CheckValid",
    "CropAndResize",
    "ExtractImagePatches",
    "NMSWithMask",
    "ROIAlign",
    "bounding_box_decode",
    "bounding_box_encode",
    "check_valid",
    "crop_and_resize",
    "extract_patches",
    "iou",
    "nms_with_mask",
    "roi_align",
    "nms_keep_mask",
]


class UnknownMode(ArgumentValueError, KeyError):
    """MindSpore raises KeyError for a mode of overlap that it does not know."""

    __str__ = ArgumentValueError.__str__


def _four(name: str, label: str, boxes: Tensor) -> None:
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ArgumentValueError(
            f"For '{name}', '{label}' must have the shape (N, 4), but got {list(boxes.shape)}."
        )


@op("ops", accepts=FLOATS, dtype=SAME, differentiable=False)
def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """The overlap of each true box (row) with each anchor (column): the share of their union, or with "iof" of the
    true box. Both ends of a box belong to it. As in MindSpore it has no gradient."""
    if mode not in ("iou", "iof"):
        raise UnknownMode(f"For 'IOU', only 'iou' or 'iof' are supported, but got 'mode': {mode}.")
    _four("IOU", "anchor_boxes", anchor_boxes)
    _four("IOU", "gt_boxes", gt_boxes)
    a, g = anchor_boxes.detach().unsqueeze(0), gt_boxes.detach().unsqueeze(1)
    low, high = torch.maximum(a[..., :2], g[..., :2]), torch.minimum(a[..., 2:], g[..., 2:])
    both = (high - low + 1).clamp_min(0).prod(-1)
    of_truth = (g[..., 2:] - g[..., :2] + 1).prod(-1)
    if mode == "iof":
        return both / of_truth
    return both / ((a[..., 2:] - a[..., :2] + 1).prod(-1) + of_truth - both)


def nms_keep_mask(covers: Tensor, kept: Tensor) -> Tensor:
    """Which boxes stay of those that come sorted, where `covers` says for each (row) which later ones it takes out:
    one row after the other, with no look at a value. A box that is out takes no other out."""
    for place, row in enumerate(covers.unbind(-2)):
        kept = kept & ~(row & kept[..., place : place + 1])
    return kept


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def nms_with_mask(bboxes: Tensor, iou_threshold: float = 0.5) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes (x1, y1, x2, y2, score) by falling score, their places in that order, and which are kept: those that no
    kept box before them overlaps by more than the threshold."""
    if bboxes.ndim != 2 or bboxes.shape[1] not in (5, 8):
        raise ArgumentValueError(
            f"For 'NMSWithMask', 'bboxes' must have the shape (N, 5), but got {list(bboxes.shape)}."
        )
    scores, order = torch.sort(bboxes[:, 4], descending=True, stable=True)
    found = bboxes[order]
    low, high = torch.minimum(found[:, :2], found[:, 2:4]), torch.maximum(found[:, :2], found[:, 2:4])
    size = (high - low).prod(-1)
    inside = torch.minimum(high.unsqueeze(1), high) - torch.maximum(low.unsqueeze(1), low)
    common = inside.clamp_min(0).prod(-1)
    covers = torch.triu(common > iou_threshold * (size.unsqueeze(1) + size - common), 1)
    kept = nms_keep_mask(covers, torch.ones_like(scores, dtype=torch.bool))
    # as the boxes come sorted, MindSpore numbers them so
    return found, torch.arange(len(scores), dtype=torch.int32, device=bboxes.device), kept


@op("ops", accepts=FLOATS, dtype=SAME)
def bounding_box_encode(
    anchor_box: Tensor,
    groundtruth_box: Tensor,
    means: Any = (0.0, 0.0, 0.0, 0.0),
    stds: Any = (1.0, 1.0, 1.0, 1.0),
) -> Tensor:
    """How far and by what factor each anchor must move to become its true box."""
    _four("BoundingBoxEncode", "anchor_box", anchor_box)
    _four("BoundingBoxEncode", "groundtruth_box", groundtruth_box)
    _numbers("BoundingBoxEncode", means, stds)
    centre, size = _centred(anchor_box)
    towards, wanted = _centred(groundtruth_box)
    made = torch.cat([(towards - centre) / size, torch.log(wanted / size)], 1)
    return (made - made.new_tensor(means)) / made.new_tensor(stds)


def _numbers(name: str, means: Any, stds: Any) -> None:
    for label, value in (("means", means), ("stds", stds)):
        if not isinstance(value, tuple) or not all(isinstance(v, float) for v in value):
            raise ArgumentTypeError(f"For '{name}', '{label}' must be a tuple of floats, but got {value!r}.")
        if len(value) != 4:
            raise ArgumentValueError(f"For '{name}', '{label}' must have 4 numbers, but got {value}.")


def _centred(boxes: Tensor) -> tuple[Tensor, Tensor]:
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
    """Anchors moved by what `bounding_box_encode` gives, held within (height, width)."""
    name = "BoundingBoxDecode"
    _four(name, "anchor_box", anchor_box)
    _four(name, "deltas", deltas)
    _numbers(name, means, stds)
    if not isinstance(max_shape, tuple):
        raise ArgumentTypeError(f"For '{name}', 'max_shape' must be a tuple, but got {max_shape!r}.")
    if len(max_shape) != 2:
        raise ArgumentValueError(f"For '{name}', 'max_shape' must be (height, width), but got {max_shape}.")
    moves = deltas * deltas.new_tensor(stds) + deltas.new_tensor(means)
    centre, size = _centred(anchor_box)
    limit = abs(math.log(wh_ratio_clip))
    centre = centre + moves[:, :2] * size
    half = size * torch.exp(moves[:, 2:].clamp(-limit, limit)) * 0.5 - 0.5
    high = deltas.new_tensor((max_shape[1], max_shape[0]))
    corners = [(centre - half), (centre + half)]
    return torch.cat([torch.minimum(corner.clamp_min(0), high) for corner in corners], 1)


@op("ops", dtype=BOOL, differentiable=False)
def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """Whether each box lies inside a picture of (height, width) times a ratio."""
    _four("CheckValid", "bboxes", bboxes)
    if img_metas.shape != (3,):
        raise ArgumentValueError(
            f"For 'CheckValid', 'img_metas' must be (height, width, ratio), but got the shape {list(img_metas.shape)}."
        )
    high = img_metas[:2].flip(0) * img_metas[2] - 1
    return (bboxes[:, :2] >= 0).all(1) & (bboxes[:, 2:] <= high).all(1)


# --- regions ----------------------------------------------------------------------------------------------------


def _weighed(at: Tensor, length: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The two neighbours of each place along an axis, and their shares; both 0 outside."""
    inside = (at >= -1) & (at <= length)
    at = at.clamp(0, length - 1)
    low = at.floor()
    share = at - low
    first = low.long()
    return first, (first + 1).clamp_max(length - 1), (1 - share) * inside, share * inside


# differentiable=False: by the features it is (tests/unit/runtime/ops/nn/test_stateful_ops.py), by the regions
# it is not.
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
    """Regions (number of the picture, x1, y1, x2, y2) of maps (N, C, H, W), each as the means of samples in
    `pooled_height` by `pooled_width` cells."""
    if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ArgumentValueError(
            f"For 'ROIAlign', 'features' must be (N, C, H, W) and 'rois' (M, 5), but the shapes are "
            f"{list(features.shape)} and {list(rois.shape)}."
        )
    height, width = features.shape[2:]
    picture = rois[:, 0].long().reshape(-1, 1, 1)
    corners = rois[:, 1:].detach().to(features.dtype)
    low = corners[:, :2] * spatial_scale
    size = (corners[:, 2:] + roi_end_mode) * spatial_scale - low
    if roi_end_mode == 0:
        size = size.clamp_min(1)
    cell = size / size.new_tensor((pooled_width, pooled_height))
    if sample_num > 0:
        counts = torch.full_like(cell, sample_num)
        most_x = most_y = sample_num
    else:  # as many samples as a cell has whole elements: how many that is must be known here
        counts = cell.floor().clamp_min(1)
        most_x, most_y = (int(n) for n in to_python_list(counts.amax(0))) if len(rois) else (1, 1)
    places = features.permute(0, 2, 3, 1)
    rows = torch.arange(pooled_height, device=rois.device)
    columns = torch.arange(pooled_width, device=rois.device)
    made = features.new_zeros((rois.shape[0], pooled_height, pooled_width, features.shape[1]))
    for down in range(most_y):
        y = low[:, 1:] + (rows + (down + 0.5) / counts[:, 1:]) * cell[:, 1:]
        for across in range(most_x):
            x = low[:, :1] + (columns + (across + 0.5) / counts[:, :1]) * cell[:, :1]
            used = ((down < counts[:, 1]) & (across < counts[:, 0])).reshape(-1, 1, 1)
            for row, share_y in _pairs(_weighed(y, height)):
                for column, share_x in _pairs(_weighed(x, width)):
                    share = share_y.unsqueeze(2) * share_x.unsqueeze(1) * used
                    found = places[picture, row.unsqueeze(2), column.unsqueeze(1)]
                    made = made + found * share.unsqueeze(-1)
    return (made / counts.prod(1).reshape(-1, 1, 1, 1)).permute(0, 3, 1, 2)


def _pairs(neighbours: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor], ...]:
    first, second, near, far = neighbours
    return (first, near), (second, far)


def _inside(at: Tensor, length: int) -> Tensor:
    return (at >= 0) & (at <= length - 1)


@op("ops", dtype=UNCHECKED)
def crop_and_resize(
    image: Tensor,
    boxes: Tensor,
    box_indices: Tensor,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
) -> Tensor:
    """Boxes (y1, x1, y2, x2), in shares of the picture, of pictures (N, H, W, C), in one size."""
    name = "CropAndResize"
    if method not in ("bilinear", "nearest", "bilinear_v2"):
        raise ArgumentValueError(
            f"For '{name}', 'method' must be bilinear, nearest or bilinear_v2, but got {method!r}."
        )
    if image.ndim != 4 or boxes.ndim != 2 or boxes.shape[1] != 4 or box_indices.shape != boxes.shape[:1]:
        raise ArgumentValueError(
            f"For '{name}', the shapes must be (N, H, W, C), (M, 4) and (M,), but got {list(image.shape)}, "
            f"{list(boxes.shape)} and {list(box_indices.shape)}."
        )
    if not isinstance(crop_size, tuple):
        raise ArgumentTypeError(
            f"For '{name}', 'crop_size' must be a tuple of 2 ints, but got {crop_size!r}."
        )
    if len(crop_size) != 2 or min(crop_size) < 1:
        raise ArgumentValueError(f"For '{name}', 'crop_size' must be 2 positive ints, but got {crop_size}.")
    picture = box_indices.long().reshape(-1, 1, 1)
    image = image.float()
    along = [
        _crop(boxes[:, axis], boxes[:, axis + 2], image.shape[1 + axis], crop_size[axis], method)
        for axis in (0, 1)
    ]
    (rows, inside_y), (columns, inside_x) = along
    made = None
    for row, share_y in rows:
        for column, share_x in columns:
            part = image[picture, row.unsqueeze(2), column.unsqueeze(1)]
            part = part * (share_y.unsqueeze(2) * share_x.unsqueeze(1)).unsqueeze(-1)
            made = part if made is None else made + part
    inside = (inside_y.unsqueeze(2) & inside_x.unsqueeze(1)).unsqueeze(-1)
    return torch.where(inside, made, extrapolation_value)  # type: ignore[arg-type]


def _crop(
    start: Tensor, end: Tensor, length: int, wanted: int, method: str
) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Neighbours and their shares along one axis of each box, and whether a place lies inside."""
    start, end = start.unsqueeze(1), end.unsqueeze(1)
    steps = torch.arange(wanted, dtype=torch.float32, device=start.device)
    if method == "bilinear_v2":
        first = (start * length).trunc()
        size = ((end * length).trunc() - first + 1).clamp_min(1)
        at = (steps + 0.5) * (size / wanted) - 0.5
        low = torch.minimum(at.floor().clamp_min(0), size - 1)
        high = torch.minimum(at.ceil().clamp_min(0), size - 1)
        share = at - low
        both = [(low, 1 - share), (high, share)]
        found = [((first + p).clamp(0, length - 1).long(), s) for p, s in both]
        return found, torch.ones_like(at, dtype=torch.bool)
    if wanted > 1:
        at = start * (length - 1) + steps * (end - start) * (length - 1) / (wanted - 1)
    else:
        at = 0.5 * (start + end) * (length - 1) + steps
    inside = _inside(at, length)
    if method == "nearest":
        near = torch.floor(at + 0.5).clamp(0, length - 1).long()
        return [(near, torch.ones_like(at))], inside
    low = at.floor()
    share = at - low
    pair = [(low, 1 - share), (at.ceil(), share)]
    return [(place.clamp(0, length - 1).long(), part) for place, part in pair], inside


@op(dtype=SAME)
def extract_patches(input_x: Tensor, ksizes: Any, strides: Any, rates: Any, padding: str = "VALID") -> Tensor:
    """Windows of (N, C, H, W) as channels: (N, rows * columns * C, H', W')."""
    from millrace._src.runtime.ops.nn.sliding_window import compute_padding

    name = "ExtractImagePatches"
    numbers = []
    for label, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if not isinstance(value, (tuple, list)) or len(value) != 4 or value[0] != 1 or value[3] != 1:
            raise ArgumentValueError(
                f"For '{name}', '{label}' must be [1, rows, columns, 1], but got {value!r}."
            )
        numbers.append(tuple(value[1:3]))
    if padding.lower() not in ("valid", "same"):
        raise ArgumentValueError(f"For '{name}', 'padding' must be VALID or SAME, but got {padding!r}.")
    kernel, steps, dilated = numbers
    around = compute_padding(
        name, padding.lower(), ((0, 0), (0, 0)), tuple(input_x.shape[2:]), kernel, steps, dilated
    )
    (top, bottom), (left, right) = around
    x = torch.nn.functional.pad(input_x, (left, right, top, bottom))
    for axis, (k, s, d) in enumerate(zip(kernel, steps, dilated, strict=True), 2):
        x = x.unfold(axis, d * (k - 1) + 1, s)[..., ::d]
    return x.permute(0, 4, 5, 1, 2, 3).reshape(x.shape[0], -1, x.shape[2], x.shape[3])


IOU = primitive("IOU", iou)
NMSWithMask = primitive("NMSWithMask", nms_with_mask)
BoundingBoxEncode = primitive("BoundingBoxEncode", bounding_box_encode)
BoundingBoxDecode = primitive("BoundingBoxDecode", bounding_box_decode)
CheckValid = primitive("CheckValid", check_valid)
ROIAlign = primitive("ROIAlign", roi_align)
CropAndResize = primitive("CropAndResize", crop_and_resize, init=("method", "extrapolation_value"))
ExtractImagePatches = primitive("ExtractImagePatches", extract_patches)

"""Bounding boxes under flip, crop and resize: rows of (x, y, width, height, ...), x and y of the top left corner."""

from __future__ import annotations

import numpy as np

from millrace._src.core.errors import DataError

from .validation import Array, describe

__all__ = ["check_boxes", "crop_boxes", "flip_boxes", "move_boxes", "scale_boxes"]


def check_boxes(image: Array, boxes: Array, op: str) -> None:
    """Raise an error for boxes of a wrong shape or type, or outside of the image."""
    if boxes.ndim != 2 or boxes.shape[1] < 4:
        raise DataError(
            f"{op}: bounding boxes should have to be two-dimensional matrix at least with 4 features, but got "
            f"{describe(boxes)}."
        )
    if boxes.dtype.kind not in "iuf":
        raise DataError(
            f"{op}: bounding boxes should have a float or integer type, but got {describe(boxes)}."
        )
    height, width = image.shape[:2]
    x, y, w, h = (boxes[:, i] for i in range(4))
    if (x < 0).any() or (y < 0).any():
        raise DataError(f"{op}: min_x and min_y of the bounding boxes must not be negative.")
    if (x + w > width).any() or (y + h > height).any():
        raise DataError(f"{op}: a bounding box reaches outside of the image of {height} x {width}.")


def flip_boxes(boxes: Array, height: int, width: int, *, across: bool) -> Array:
    flipped = boxes.copy()
    if across:
        flipped[:, 0] = width - (boxes[:, 0] + boxes[:, 2])
    else:
        flipped[:, 1] = height - (boxes[:, 1] + boxes[:, 3])
    return flipped


def move_boxes(boxes: Array, right: int, down: int) -> Array:
    moved = boxes.copy()
    moved[:, 0] += right
    moved[:, 1] += down
    return moved


def scale_boxes(boxes: Array, source_size: tuple[int, int], target_size: tuple[int, int]) -> Array:
    """Scale boxes for an image resized from one (height, width) to another."""
    scaled = boxes.copy()
    across, down = (
        np.float32(target_size[1]) / np.float32(source_size[1]),
        np.float32(target_size[0]) / np.float32(source_size[0]),
    )
    scaled[:, 0], scaled[:, 2] = boxes[:, 0] * across, boxes[:, 2] * across
    scaled[:, 1], scaled[:, 3] = boxes[:, 1] * down, boxes[:, 3] * down
    return scaled


def crop_boxes(boxes: Array, top: int, left: int, height: int, width: int) -> Array:
    """Clip boxes to a part of the image and drop those outside. At least one row remains, of zeros."""
    right, bottom = left + width, top + height
    x1, y1 = np.maximum(boxes[:, 0], left), np.maximum(boxes[:, 1], top)
    x2 = np.minimum(boxes[:, 0] + boxes[:, 2], right)
    y2 = np.minimum(boxes[:, 1] + boxes[:, 3], bottom)
    inside = (x2 > x1) & (y2 > y1)
    cropped = boxes[inside].copy()
    cropped[:, 0], cropped[:, 1] = x1[inside] - left, y1[inside] - top
    cropped[:, 2], cropped[:, 3] = (x2 - x1)[inside], (y2 - y1)[inside]
    return cropped if len(cropped) else np.zeros((1, boxes.shape[1]), boxes.dtype)

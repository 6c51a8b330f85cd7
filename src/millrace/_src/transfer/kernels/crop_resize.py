"""Crop and resize images of different sizes to a batch of one size.

The host computes the source pixels and weights for all rows at once; the device only gathers and adds. Weights are
11-bit integers and sums are truncated as in OpenCV, so that uint8 results are equal to the host's bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from millrace._src.core.errors import DeviceQueueError
from millrace._src.core.values.offload import OffloadStep

from .pixel_ops import to_device

__all__ = ["Images", "crop_and_resize_batch"]

_ONE = 2048  # scale of OpenCV's integer weights


class Images(NamedTuple):
    """Images in one buffer: base offsets, and strides of rows, columns and channels."""

    flat: torch.Tensor
    base: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]  # (height, width) of each image
    steps: np.ndarray[Any, Any]  # (row, column, channel) strides of each image
    channels: int  # 0 without a channel axis

    @classmethod
    def of_batch(cls, x: torch.Tensor) -> Images:
        """Images of a batch <N,H,W> or <N,H,W,C>."""
        count, height, width = x.shape[:3]
        channels = x.shape[3] if x.ndim == 4 else 0
        many = max(channels, 1)
        base = np.arange(count) * (height * width * many)
        steps = np.broadcast_to((width * many, many, 1), (count, 3))
        sizes = np.broadcast_to((height, width), (count, 2))
        return cls(x.contiguous().reshape(-1), base, sizes, steps, channels)

    @classmethod
    def of_planes(cls, images: Sequence[torch.Tensor]) -> Images:
        """Images of a list of decoded images <C,H,W>."""
        sizes = np.array([image.shape[1:] for image in images])
        areas = sizes[:, 0] * sizes[:, 1]
        base = np.concatenate([[0], np.cumsum(areas * images[0].shape[0])[:-1]])
        steps = np.stack([sizes[:, 1], np.ones_like(areas), areas], 1)
        flat = torch.cat([image.reshape(-1) for image in images])
        return cls(flat, base, sizes, steps, images[0].shape[0])

    @classmethod
    def of_rows(cls, rows: torch.Tensor, shapes: Sequence[tuple[int, ...]]) -> Images:
        """Images <H,W> or <H,W,C> at the start of the rows of a byte matrix."""
        if len({shape[2:] for shape in shapes}) > 1:
            raise DeviceQueueError(
                f"images of different channels cannot be one batch: {sorted(set(shapes))[:3]}"
            )
        channels = shapes[0][2] if len(shapes[0]) == 3 else 0
        sizes = np.array([shape[:2] for shape in shapes])
        many = np.full(len(shapes), max(channels, 1))
        steps = np.stack([sizes[:, 1] * many, many, np.ones_like(many)], 1)
        return cls(rows.reshape(-1), np.arange(len(shapes)) * rows.shape[1], sizes, steps, channels)


class _Axis(NamedTuple):
    """Sampling of one axis: source indices of each output pixel, and the weight of the second."""

    first: np.ndarray[Any, Any]
    second: np.ndarray[Any, Any] | None = None
    weights: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None


def crop_and_resize_batch(
    images: Images, steps: Sequence[OffloadStep], samples: Sequence[Sequence[Any]]
) -> torch.Tensor:
    """Apply crops and at most one resize to images; ``samples`` holds the random numbers per step and row."""
    rows = [
        _compute_window(size, steps, [each[i] for each in samples])
        for i, size in enumerate(images.sizes.tolist())
    ]
    boxes, targets, windows = (np.array(part) for part in zip(*rows, strict=True))
    if len(set(map(tuple, windows[:, 2:].tolist()))) > 1:
        sizes = sorted(set(map(tuple, windows[:, 2:].tolist())))[:2]
        raise DeviceQueueError(
            f"images of different sizes cannot be one batch: {sizes[0]} and {sizes[1]}. Give them one size: "
            "Resize((height, width)) or a crop as the last of them"
        )
    resize = next((step for step in steps if step.kernel == "resized"), None)
    linear = None if resize is None else bool(resize.args["linear"])
    down = _sample_axis(
        boxes[:, 0], boxes[:, 2], targets[:, 0], windows[:, 0], int(windows[0, 2]), linear, True
    )
    across = _sample_axis(
        boxes[:, 1], boxes[:, 3], targets[:, 1], windows[:, 1], int(windows[0, 3]), linear, False
    )
    return _gather_pixels(images, down, across)


def _compute_window(
    size: list[int], steps: Sequence[OffloadStep], samples: Sequence[Any]
) -> tuple[Any, Any, Any]:
    """(source window, target size, crop window of the target) of one image."""
    box = [0, 0, *size]
    target: list[int] | None = None
    window = [0, 0, *size]
    for step, values in zip(steps, samples, strict=True):
        assert step.row_params is not None
        if step.kernel == "resized":
            part, goal = step.row_params(window[2], window[3], *values)
            box = [box[0] + window[0] + part[0], box[1] + window[1] + part[1], part[2], part[3]]
            target, window = list(goal), [0, 0, *goal]
        else:
            top, left, tall, wide = step.row_params(window[2], window[3], *values)
            window = [window[0] + top, window[1] + left, tall, wide]
    return box, box[2:] if target is None else target, window


def _sample_axis(
    start: Any, length: Any, target: Any, skip: Any, count: int, linear: bool | None, clamps: bool
) -> _Axis:
    """Sampling of an axis: source ``start`` and ``length``, ``target`` length, ``count`` pixels from ``skip`` on."""
    positions = skip[:, None] + np.arange(count)[None, :]
    if linear is None:
        return _Axis(start[:, None] + positions)
    scale = 1.0 / (target / length)
    if not linear:
        indices = np.minimum(np.floor(positions * scale[:, None]).astype(np.int64), length[:, None] - 1)
        return _Axis(start[:, None] + indices)
    exact = ((positions + 0.5) * scale[:, None] - 0.5).astype(np.float32)
    first = np.floor(exact).astype(np.int64)
    part = exact - first.astype(np.float32)
    last = length[:, None] - 1
    if (
        not clamps
    ):  # horizontally, OpenCV gives the border pixel the full weight; vertically, it uses it twice
        part = np.where((first < 0) | (first >= last), np.float32(0), part)
    low, high = (np.clip(pixel, 0, last) + start[:, None] for pixel in (first, first + 1))
    weights = tuple(
        np.rint(each * np.float32(_ONE)).astype(np.int32) for each in (np.float32(1) - part, part)
    )
    return _Axis(low, high, (weights[0], weights[1]))


def _gather_pixels(images: Images, down: _Axis, across: _Axis) -> torch.Tensor:
    many = max(images.channels, 1)
    flat, base, steps = images.flat, images.base, images.steps
    together = many > 1 and _is_interleaved(images, many)
    if together:  # fetch all channels of a pixel at once
        flat, base, steps = flat.reshape(-1, many), base // many, steps // many
    lines = [base[:, None] + each * steps[:, :1] for each in _neighbor_indices(down)]
    columns = [each * steps[:, 1:2] for each in _neighbor_indices(across)]
    weights = [each for pair in (down.weights, across.weights) if pair is not None for each in pair]
    there = _copy_to_device([*lines, *columns, *weights, steps[:, 2:]], flat.device)
    channel = there.pop()[:, :, None]
    rows, cells = there[: len(lines)], there[len(lines) : len(lines) + len(columns)]
    shares = [each.to(torch.int32) for each in there[len(lines) + len(columns) :]]
    at = [row[:, :, None] + cell[:, None, :] for row in rows for cell in cells]
    if together:
        return _blend_corners([flat[each] for each in at], [share[..., None] for share in shares])
    planes = [
        _blend_corners([flat[each + channel * number] for each in at], shares) for number in range(many)
    ]
    return torch.stack(planes, -1) if images.channels else planes[0]


def _is_interleaved(images: Images, many: int) -> bool:
    """Whether channels are interleaved and pixels contiguous from offset 0 on."""
    steps = images.steps
    side = bool((steps[:, 2] == 1).all() and (steps[:, 1] == many).all())
    return side and not (images.base % many).any() and images.flat.numel() % many == 0


def _copy_to_device(arrays: list[Any], device: torch.device) -> list[torch.Tensor]:
    """Copy small arrays to the device in one transfer."""
    whole = to_device(np.concatenate([each.reshape(-1) for each in arrays], dtype=np.int64), device)
    parts = torch.split(whole, [each.size for each in arrays])
    return [part.reshape(each.shape) for part, each in zip(parts, arrays, strict=True)]


def _neighbor_indices(axis: _Axis) -> list[Any]:
    return [axis.first] if axis.second is None else [axis.first, axis.second]


def _blend_corners(corners: list[torch.Tensor], weights: list[torch.Tensor]) -> torch.Tensor:
    """Interpolate between four neighbors, horizontally, then vertically, truncated as in OpenCV."""
    if not weights:
        return corners[0]
    upper, lower, left, right = weights
    blended = None
    for line, weight in enumerate((upper, lower)):
        sums = corners[2 * line] * left[:, None] + corners[2 * line + 1] * right[:, None]
        part = ((sums >> 4) * weight[:, :, None]) >> 16
        blended = part if blended is None else blended.add_(part)
    assert blended is not None
    return (blended.add_(2) >> 2).to(torch.uint8)

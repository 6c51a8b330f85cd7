"""Parts of images in other sizes: images of any sizes in, a batch of one size out.

Which pixels a part needs, and with which weights, is worked out on the host for all rows at once; the device only
gathers and adds. Weights are integers of 11 bits and sums are cut as OpenCV's are, so that levels of 256 come out bit
for bit as on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from millrace.core.card import CardStep
from millrace.core.errors import SinkError

from .pixels import to_device

__all__ = ["Images", "sampled"]

_ONE = 2048  # OpenCV's weights


class Images(NamedTuple):
    """Images one after the other in one buffer: where each begins, and how far rows, columns and channels are apart."""

    flat: torch.Tensor
    base: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]  # (height, width) of each
    steps: np.ndarray[Any, Any]  # (row, column, channel) of each
    channels: int  # 0 where there is no axis of channels

    @classmethod
    def of_batch(cls, x: torch.Tensor) -> Images:
        """A batch <N,H,W> or <N,H,W,C>."""
        count, height, width = x.shape[:3]
        channels = x.shape[3] if x.ndim == 4 else 0
        many = max(channels, 1)
        base = np.arange(count) * (height * width * many)
        steps = np.broadcast_to((width * many, many, 1), (count, 3))
        sizes = np.broadcast_to((height, width), (count, 2))
        return cls(x.contiguous().reshape(-1), base, sizes, steps, channels)

    @classmethod
    def of_planes(cls, images: Sequence[torch.Tensor]) -> Images:
        """Images <C,H,W>, as decoders give them."""
        sizes = np.array([image.shape[1:] for image in images])
        areas = sizes[:, 0] * sizes[:, 1]
        base = np.concatenate([[0], np.cumsum(areas * images[0].shape[0])[:-1]])
        steps = np.stack([sizes[:, 1], np.ones_like(areas), areas], 1)
        flat = torch.cat([image.reshape(-1) for image in images])
        return cls(flat, base, sizes, steps, images[0].shape[0])

    @classmethod
    def of_rows(cls, rows: torch.Tensor, shapes: Sequence[tuple[int, ...]]) -> Images:
        """Images <H,W> or <H,W,C> at the beginning of the rows of a matrix of bytes."""
        if len({shape[2:] for shape in shapes}) > 1:
            raise SinkError(f"images of different channels cannot be one batch: {sorted(set(shapes))[:3]}")
        channels = shapes[0][2] if len(shapes[0]) == 3 else 0
        sizes = np.array([shape[:2] for shape in shapes])
        many = np.full(len(shapes), max(channels, 1))
        steps = np.stack([sizes[:, 1] * many, many, np.ones_like(many)], 1)
        return cls(rows.reshape(-1), np.arange(len(shapes)) * rows.shape[1], sizes, steps, channels)


class _Axis(NamedTuple):
    """One direction: which pixels of the source each pixel of the result is made of, and the weight of the second."""

    first: np.ndarray[Any, Any]
    second: np.ndarray[Any, Any] | None = None
    weights: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]] | None = None


def sampled(images: Images, steps: Sequence[CardStep], drawn: Sequence[Sequence[Any]]) -> torch.Tensor:
    """The images through crops and at most one resize, as a batch; ``drawn`` holds for each step a row's numbers."""
    rows = [_window(size, steps, [each[i] for each in drawn]) for i, size in enumerate(images.sizes.tolist())]
    boxes, targets, windows = (np.array(part) for part in zip(*rows, strict=True))
    if len(set(map(tuple, windows[:, 2:].tolist()))) > 1:
        found = sorted(set(map(tuple, windows[:, 2:].tolist())))[:2]
        raise SinkError(
            f"images of different sizes cannot be one batch: {found[0]} and {found[1]}. Give them one size: "
            "Resize((height, width)) or a crop as the last of them"
        )
    kind = next((step for step in steps if step.kernel == "resized"), None)
    linear = None if kind is None else bool(kind.args["linear"])
    down = _axis(boxes[:, 0], boxes[:, 2], targets[:, 0], windows[:, 0], int(windows[0, 2]), linear, True)
    across = _axis(boxes[:, 1], boxes[:, 3], targets[:, 1], windows[:, 1], int(windows[0, 3]), linear, False)
    return _gathered(images, down, across)


def _window(size: list[int], steps: Sequence[CardStep], drawn: Sequence[Any]) -> tuple[Any, Any, Any]:
    """(part of the source, size that it gets, part of that) for one image."""
    box = [0, 0, *size]
    target: list[int] | None = None
    window = [0, 0, *size]
    for step, own in zip(steps, drawn, strict=True):
        assert step.place is not None
        if step.kernel == "resized":
            part, goal = step.place(window[2], window[3], *own)
            box = [box[0] + window[0] + part[0], box[1] + window[1] + part[1], part[2], part[3]]
            target, window = list(goal), [0, 0, *goal]
        else:
            top, left, tall, wide = step.place(window[2], window[3], *own)
            window = [window[0] + top, window[1] + left, tall, wide]
    return box, box[2:] if target is None else target, window


def _axis(
    start: Any, length: Any, target: Any, skip: Any, count: int, linear: bool | None, clamps: bool
) -> _Axis:
    """``start`` and ``length`` of the part, the length it gets, and the ``count`` pixels of that from ``skip`` on."""
    place = skip[:, None] + np.arange(count)[None, :]
    if linear is None:
        return _Axis(start[:, None] + place)
    scale = 1.0 / (target / length)
    if not linear:
        found = np.minimum(np.floor(place * scale[:, None]).astype(np.int64), length[:, None] - 1)
        return _Axis(start[:, None] + found)
    exact = ((place + 0.5) * scale[:, None] - 0.5).astype(np.float32)
    first = np.floor(exact).astype(np.int64)
    part = exact - first.astype(np.float32)
    last = length[:, None] - 1
    if not clamps:  # across, OpenCV gives the outermost pixel all the weight; down, it takes it twice
        part = np.where((first < 0) | (first >= last), np.float32(0), part)
    low, high = (np.clip(pixel, 0, last) + start[:, None] for pixel in (first, first + 1))
    weights = tuple(
        np.rint(each * np.float32(_ONE)).astype(np.int32) for each in (np.float32(1) - part, part)
    )
    return _Axis(low, high, (weights[0], weights[1]))


def _gathered(images: Images, down: _Axis, across: _Axis) -> torch.Tensor:
    device, many = images.flat.device, max(images.channels, 1)
    count, tall, wide = len(images.base), down.first.shape[1], across.first.shape[1]
    lines = [images.base[:, None] + each * images.steps[:, :1] for each in _both(down)]
    columns = [each * images.steps[:, 1:2] for each in _both(across)]
    index = [to_device(each, device) for each in (*lines, *columns)]
    lines_there, columns_there = index[: len(lines)], index[len(lines) :]
    channel = to_device(images.steps[:, 2], device).reshape(-1, 1, 1)
    blends = down.weights is not None and across.weights is not None
    out = torch.empty((count, tall, wide, many), dtype=images.flat.dtype, device=device)
    weights = [to_device(each, device) for pair in (down.weights, across.weights) if pair for each in pair]
    for number in range(many):
        at = [
            line[:, :, None] + column[:, None, :] + channel * number
            for line in lines_there
            for column in columns_there
        ]
        if not blends:
            out[..., number] = images.flat[at[0]]
            continue
        out[..., number] = _blended([images.flat[each].to(torch.int32) for each in at], weights)
    return out if images.channels else out[..., 0]


def _both(axis: _Axis) -> list[Any]:
    return [axis.first] if axis.second is None else [axis.first, axis.second]


def _blended(corners: list[torch.Tensor], weights: list[torch.Tensor]) -> torch.Tensor:
    """Across first, then down, each cut as OpenCV does."""
    upper, lower, left, right = weights
    made = None
    for line, weight in enumerate((upper, lower)):
        sums = corners[2 * line] * left[:, None, :] + corners[2 * line + 1] * right[:, None, :]
        part = ((sums >> 4) * weight[:, :, None]) >> 16
        made = part if made is None else made + part
    assert made is not None
    return ((made + 2) >> 2).to(torch.uint8)

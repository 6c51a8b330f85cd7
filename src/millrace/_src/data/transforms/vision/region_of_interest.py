"""The region of its input that a transform reads, computed from the image size and its parameters, before decoding.

Only that region has to be decoded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from millrace._src.data.kernels.vision.enums import Inter
from millrace._src.data.kernels.vision.jpeg_region import Box
from millrace._src.data.kernels.vision.resize import target_size
from millrace._src.data.transforms.base import Transform

from .crop import (
    CenterCrop,
    Crop,
    RandomCrop,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
    choose_crop_box,
    random_offset,
)
from .normalize import HorizontalFlip, RandomHorizontalFlip, RandomVerticalFlip, VerticalFlip

__all__ = [
    "has_region_of_interest",
    "reads_whole_image",
    "only_permutes_pixels",
    "resized_part",
    "region_of_interest",
]

Size = tuple[int, int]
# (size of the result, function from a part of the result to the part of the input that it is computed from); None where
# it is unknown
Window = tuple[Size, Callable[[Box], Box]] | None

# Resizing reads at most two neighbours of a point, and rounds.
_NEIGHBOURS = 3


def _is_inside(box: Box, size: Size) -> bool:
    top, left, height, width = box
    return top >= 0 and left >= 0 and top + height <= size[0] and left + width <= size[1]


def _crop_window(box: Box, size: Size) -> Window:
    """Window of a transform that crops ``box``."""
    if not _is_inside(box, size):
        return None  # padding or an error: handled by the transform
    return box[2:], lambda want: (box[0] + want[0], box[1] + want[1], want[2], want[3])


def _resized_window(box: Box, target: Size, inter: Inter) -> Window:
    """Window of a transform that crops ``box`` and resizes it."""
    if inter == Inter.PILCUBIC:
        return None
    down, across = box[2] / target[0], box[3] / target[1]

    def source(want: Box) -> Box:
        top, tall = _span(want[0], want[2], down, box[0], box[2])
        left, wide = _span(want[1], want[3], across, box[1], box[3])
        return top, left, tall, wide

    return target, source


def _span(start: int, length: int, scale: float, begin: int, limit: int) -> tuple[int, int]:
    low = max(0, math.floor(start * scale) - _NEIGHBOURS)
    high = min(limit, math.ceil((start + length) * scale) + _NEIGHBOURS)
    return begin + low, high - low


def _resize_window(op: Transform, size: Size, *params: Any) -> Window:
    part = resized_part(op, params, size)
    return None if part is None else _resized_window(*part)


def _center(op: CenterCrop, size: Size) -> Window:
    height, width = op.size
    return _crop_window(((size[0] - height) // 2, (size[1] - width) // 2, height, width), size)


def _crop(op: Crop, size: Size) -> Window:
    return _crop_window((*op.coordinates, *op.size), size)


def _random_crop(op: RandomCrop, size: Size, down: float, right: float) -> Window:
    height, width = op.size
    if any(op.padding) or height > size[0] or width > size[1]:
        return None
    return _crop_window(
        (random_offset(down, size[0] - height), random_offset(right, size[1] - width), height, width), size
    )


def _across(op: Transform, size: Size, apply: bool = True) -> Window:
    if not apply:
        return size, lambda want: want
    return size, lambda want: (want[0], size[1] - want[1] - want[3], want[2], want[3])


def _down(op: Transform, size: Size, apply: bool = True) -> Window:
    if not apply:
        return size, lambda want: want
    return size, lambda want: (size[0] - want[0] - want[2], want[1], want[2], want[3])


_WINDOWS: dict[type[Transform], Callable[..., Window]] = {
    CenterCrop: _center,
    Crop: _crop,
    HorizontalFlip: _across,
    RandomHorizontalFlip: _across,
    RandomVerticalFlip: _down,
    VerticalFlip: _down,
    RandomCrop: _random_crop,
    RandomResizedCrop: _resize_window,
    Resize: _resize_window,
    ResizedCrop: _resize_window,
}


_WHOLE_IMAGE = (HorizontalFlip, RandomHorizontalFlip, RandomVerticalFlip, VerticalFlip)


def has_region_of_interest(op: Transform) -> bool:
    """Whether the region that this transform reads is known."""
    return type(op) in _WINDOWS


def reads_whole_image(op: Transform) -> bool:
    """Whether the region is known and always the whole input."""
    return type(op) in _WHOLE_IMAGE


def only_permutes_pixels(op: Transform) -> bool:
    """Whether each pixel of the result is a pixel of the input, or zero, wherever there is a window.

    Then equal channels stay equal, and one of them determines all.
    """
    if isinstance(op, (Resize, RandomResizedCrop, ResizedCrop)):
        return op.interpolation is Inter.NEAREST
    if isinstance(op, RandomCrop):
        return not any(op.padding) and not op.pad_if_needed
    return has_region_of_interest(op)


def region_of_interest(ops: Sequence[Transform], params: Sequence[Sequence[Any]], size: Size) -> Box | None:
    """The region of an image of this size that the transforms, applied in order, read; None if it is unknown."""
    sources: list[Callable[[Box], Box]] = []
    before = size
    for op, values in zip(ops, params, strict=True):
        step = _WINDOWS[type(op)](op, before, *values)
        if step is None:
            return None
        before, source = step
        sources.append(source)
    box: Box = (0, 0, *before)
    for source in reversed(sources):
        box = source(box)
    return box


def resized_part(op: Transform, params: Sequence[Any], size: Size) -> tuple[Box, Size, Inter] | None:
    """(region, target size, interpolation) of a transform that only crops and resizes; None for others."""
    if isinstance(op, Resize):
        part = (0, 0, *size), target_size(op.size, *size), op.interpolation
    elif isinstance(op, RandomResizedCrop):
        part = choose_crop_box(params[0], op.ratio, *size), op.size, op.interpolation
    elif isinstance(op, ResizedCrop):
        part = (op.top, op.left, op.height, op.width), op.size, op.interpolation
    else:
        return None
    return part if _is_inside(part[0], size) else None

"""Crops: crop_and_resize, extract_glimpse, central_crop."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["CropAndResize", "ExtractGlimpse", "central_crop", "crop_and_resize", "extract_glimpse"]


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
    """Crop boxes (y1, x1, y2, x2), in relative coordinates, from images (N, H, W, C), and resize them to one size."""
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
    image_index = box_indices.long().reshape(-1, 1, 1)
    image = image.float()
    along = [
        _crop_axis(boxes[:, axis], boxes[:, axis + 2], image.shape[1 + axis], crop_size[axis], method)
        for axis in (0, 1)
    ]
    (rows, inside_y), (columns, inside_x) = along
    output = None
    for row, share_y in rows:
        for column, share_x in columns:
            part = image[image_index, row.unsqueeze(2), column.unsqueeze(1)]
            part = part * (share_y.unsqueeze(2) * share_x.unsqueeze(1)).unsqueeze(-1)
            output = part if output is None else output + part
    inside = (inside_y.unsqueeze(2) & inside_x.unsqueeze(1)).unsqueeze(-1)
    return torch.where(inside, output, extrapolation_value)  # type: ignore[arg-type]


def _crop_axis(
    start: Tensor, end: Tensor, length: int, wanted: int, method: str
) -> tuple[list[tuple[Tensor, Tensor]], Tensor]:
    """Neighbors and their weights along one axis of each box, and whether a position lies inside."""
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
        neighbors = [((first + p).clamp(0, length - 1).long(), s) for p, s in both]
        return neighbors, torch.ones_like(at, dtype=torch.bool)
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
    return [(position.clamp(0, length - 1).long(), part) for position, part in pair], inside


CropAndResize = primitive("CropAndResize", crop_and_resize, init=("method", "extrapolation_value"))


@op(dtype=UNCHECKED, differentiable=False, random=True)
def extract_glimpse(
    x: Tensor,
    size: Any,
    offsets: Tensor,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
) -> Tensor:
    """Window of the given size around a point of each image (batch, height, width, channels). Outside the image it is
    filled with noise: uniform over the range of the values, Gaussian with their mean and deviation, or zeros.
    """
    name = "ExtractGlimpse"
    if noise not in ("uniform", "gaussian", "zero"):
        raise ArgumentValueError(
            f"For '{name}', 'noise' must be uniform, gaussian or zero, but got {noise!r}."
        )
    if noise != "uniform" and uniform_noise:
        raise ArgumentValueError(f"For '{name}', 'uniform_noise' must be False where 'noise' is {noise!r}.")
    if x.ndim != 4 or offsets.ndim != 2 or offsets.shape != (x.shape[0], 2):
        raise ArgumentValueError(
            f"For '{name}', the images must have the shape (B, H, W, C) and the offsets (B, 2), but got "
            f"{list(x.shape)} "
            f"and {list(offsets.shape)}."
        )
    tall, broad = to_shape(size)
    extent = torch.tensor(x.shape[1:3], dtype=torch.float32, device=x.device)
    window = torch.tensor([tall, broad], dtype=torch.float32, device=x.device)
    start = offsets * extent if normalized else offsets
    start = (start + extent) / 2 if centered else start
    start = (start - window / 2).trunc().long()
    rows = start[:, :1] + torch.arange(tall, device=x.device)
    columns = start[:, 1:] + torch.arange(broad, device=x.device)
    height, width = x.shape[1:3]
    inside = ((rows >= 0) & (rows < height)).unsqueeze(2) & ((columns >= 0) & (columns < width)).unsqueeze(1)
    batch = torch.arange(x.shape[0], device=x.device).reshape(-1, 1, 1)
    seen = x[batch, rows.clamp(0, height - 1).unsqueeze(2), columns.clamp(0, width - 1).unsqueeze(1)]
    return torch.where(inside.unsqueeze(-1), seen, _sample_noise(x, seen, noise))


def _sample_noise(x: Tensor, like: Tensor, noise: str) -> Tensor:
    """Fill values outside an image."""
    if noise == "zero":
        return torch.zeros_like(like)
    if noise == "uniform":
        low, high = torch.aminmax(x)
        return torch.rand_like(like) * (high - low) + low
    return torch.randn_like(like) * x.std(unbiased=False) + x.mean()


ExtractGlimpse = primitive(
    "ExtractGlimpse", extract_glimpse, ("centered", "normalized", "uniform_noise", "noise")
)


@op(dtype=SAME)
def central_crop(image: Tensor, central_fraction: float) -> Tensor:
    """Central crop of (C, H, W) or (N, C, H, W)."""
    if image.ndim not in (3, 4):
        raise ArgumentValueError(f"CentralCrop image must be 3d or 4d, but got shape {tuple(image.shape)}")
    height, width = image.shape[-2:]
    top, left = int((height - height * central_fraction) / 2), int((width - width * central_fraction) / 2)
    return image[..., top : height - top, left : width - left].clone()

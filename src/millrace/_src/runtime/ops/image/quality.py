"""Operations behind single layers: images, embeddings, clipping, gamma functions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import normalize_axes
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "central_part",
    "clipped_to_norm",
    "fields_embedded",
    "gamma_digamma",
    "gamma_lower",
    "gamma_of",
    "image_differences",
    "length_along",
    "log_beta",
    "looked_up",
    "moments_of",
    "signal_to_noise",
    "similarity",
    "similarity_by_scales",
    "size_of_weights",
]


@op(dtype=SAME)
def size_of_weights(weights: Tensor, scale: float) -> Tensor:
    """The sum of the absolute values, times `scale`."""
    return weights.abs().sum() * scale


@op(accepts=FLOATS, dtype=SAME)
def length_along(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """The square root of the sum of squares along axes; along all of them where none is named."""
    return torch.linalg.vector_norm(x, 2, normalize_axes(axis, x.ndim), keep_dims)


@op(accepts=FLOATS, dtype=SAME)
def clipped_to_norm(x: Tensor, clip_norm: Tensor, axis: Any = None) -> Tensor:
    """A tensor whose norm along axes is above `clip_norm`, scaled down to it."""
    over = normalize_axes(() if axis is None else tuple(axis) if isinstance(axis, list) else axis, x.ndim)
    norm = torch.linalg.vector_norm(x, 2, over, True)
    return x * clip_norm / torch.maximum(norm, clip_norm.to(x.dtype))


# --- embeddings -------------------------------------------------------------------------------------------------


def _row_numbers(name: str, ids: Tensor) -> None:
    if ids.dtype not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For '{name}', the indices must be int32 or int64, but got {ids.dtype}.")


@op(dtype=UNCHECKED)
def looked_up(table: Tensor, ids: Tensor, max_norm: float | None = None) -> Tensor:
    """The rows that `ids` number; zeros for numbers that no row has. Rows longer than `max_norm` are shortened."""
    _row_numbers("EmbeddingLookup", ids)
    known = (ids >= 0) & (ids < table.shape[0])
    found = F.embedding(ids.clamp(0, table.shape[0] - 1), table) * known.unsqueeze(-1).to(table.dtype)
    if max_norm is None:
        return found
    norm = torch.linalg.vector_norm(found, 2, -1, True)
    return found * (max_norm / norm.clamp_min(max_norm))


@op(dtype=UNCHECKED)
def fields_embedded(
    table: Tensor,
    ids: Tensor,
    values: Tensor,
    fields: Tensor,
    count: int,
    operator: str = "SUM",
    max_norm: float | None = None,
) -> Tensor:
    """The rows of `table` that (batch, entries) `ids` number, times `values`, joined for each of `count` fields."""
    if ids.shape != fields.shape or ids.shape != values.shape or ids.ndim != 2:
        raise ArgumentValueError(
            f"For 'MultiFieldEmbeddingLookup', indices, values and fields must have one shape of 2 axes, but got "
            f"{list(ids.shape)}, {list(values.shape)} and {list(fields.shape)}."
        )
    rows = looked_up.raw(table, ids, max_norm) * values.unsqueeze(-1)
    where = fields.long().unsqueeze(-1).expand_as(rows)
    shape = (ids.shape[0], count, table.shape[1])
    if operator == "MAX":
        start = rows.new_zeros(shape)
        return start.scatter_reduce(1, where, rows, "amax", include_self=False)
    whole = rows.new_zeros(shape).scatter_add(1, where, rows)
    if operator == "SUM":
        return whole
    parts = rows.new_zeros((*shape[:2], 1)).scatter_add(1, where[..., :1], values.unsqueeze(-1))
    return whole / torch.where(parts == 0, torch.ones_like(parts), parts.abs())


# --- images -----------------------------------------------------------------------------------------------------


@op(dtype=UNCHECKED)
def image_differences(images: Tensor) -> tuple[Tensor, Tensor]:
    """How much each pixel differs from the one below and from the one to the right; 0 at the edges."""
    if images.ndim != 4:
        raise ArgumentValueError(
            f"For 'ImageGradients', the dimension of 'images' must be 4d, but got {images.ndim}."
        )
    down = F.pad(images[:, :, 1:] - images[:, :, :-1], (0, 0, 0, 1))
    right = F.pad(images[..., 1:] - images[..., :-1], (0, 1))
    return down, right


def _alike(name: str, a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise ArgumentTypeError(
            f"For '{name}', the images must have one type, but got {a.dtype} and {b.dtype}."
        )
    if a.shape != b.shape or a.ndim != 4:
        raise ArgumentValueError(
            f"For '{name}', the images must have one shape (N, C, H, W), but got {list(a.shape)} and {list(b.shape)}."
        )


def _wide(image: Tensor, max_val: float) -> tuple[Tensor, float]:
    """Pixels as floats between 0 and 1, or `max_val` where they are floats already."""
    if image.is_floating_point():
        return image, max_val
    return image.float() / torch.iinfo(image.dtype).max, max_val / torch.iinfo(image.dtype).max


@op(dtype=UNCHECKED)
def signal_to_noise(img1: Tensor, img2: Tensor, max_val: float = 1.0) -> Tensor:
    """The peak signal to noise ratio of each pair of images, in decibels."""
    _alike("PSNR", img1, img2)
    (a, top), (b, _) = _wide(img1, max_val), _wide(img2, max_val)
    return 10 * torch.log10(top**2 / (a - b).square().mean((-3, -2, -1)))


def _ssim_per_channel(
    a: Tensor, b: Tensor, weight: Tensor, top: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The similarity of each channel, and the part of it that is of contrast and structure."""
    channels = a.shape[1]
    kernel = weight.to(a.dtype).expand(channels, 1, *weight.shape[2:])

    def blurred(x: Tensor) -> Tensor:
        return F.conv2d(x, kernel, groups=channels)

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    mean_a, mean_b = blurred(a), blurred(b)
    product, squares = mean_a * mean_b, mean_a.square() + mean_b.square()
    luminance = (2 * product + c1) / (squares + c1)
    joint = 2 * (blurred(a * b) - product)
    spread = blurred(a.square() + b.square()) - squares
    contrast = (joint + c2) / (spread + c2)
    return (luminance * contrast).mean((2, 3)), contrast.mean((2, 3))


def _check_window_fits(name: str, image: Tensor, weight: Tensor) -> None:
    if min(image.shape[2:]) < weight.shape[-1]:
        raise ArgumentValueError(
            f"For '{name}', height and width of the images should be >= filter_size: {weight.shape[-1]}, "
            f"but the shape is {list(image.shape)}."
        )


@op(dtype=UNCHECKED)
def similarity(
    img1: Tensor, img2: Tensor, weight: Tensor, max_val: float = 1.0, k1: float = 0.01, k2: float = 0.03
) -> Tensor:
    """The structural similarity of each pair of images, with `weight` as the window."""
    _alike("SSIM", img1, img2)
    _check_window_fits("SSIM", img1, weight)
    (a, top), (b, _) = _wide(img1, max_val), _wide(img2, max_val)
    return _ssim_per_channel(a, b, weight, top, k1, k2)[0].mean(1)


@op(dtype=UNCHECKED)
def similarity_by_scales(
    img1: Tensor,
    img2: Tensor,
    weight: Tensor,
    powers: tuple[float, ...],
    max_val: float = 1.0,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity over several scales: each has half the size of the one before, and a power."""
    _alike("MSSSIM", img1, img2)
    (a, top), (b, _) = _wide(img1, max_val), _wide(img2, max_val)
    whole = None
    for place, power in enumerate(powers):
        if place:
            a, b = F.avg_pool2d(a, 2), F.avg_pool2d(b, 2)
        _check_window_fits("MSSSIM", a, weight)
        both, contrast = _ssim_per_channel(a, b, weight, top, k1, k2)
        part = F.relu(both if place == len(powers) - 1 else contrast).pow(power)
        whole = part if whole is None else whole * part
    return whole.mean(1)  # type: ignore[union-attr]


@op(dtype=SAME)
def central_part(image: Tensor, central_fraction: float) -> Tensor:
    """The middle of (C, H, W) or (N, C, H, W)."""
    if image.ndim not in (3, 4):
        raise ArgumentValueError(f"CentralCrop image must be 3d or 4d, but got shape {tuple(image.shape)}")
    height, width = image.shape[-2:]
    top, left = int((height - height * central_fraction) / 2), int((width - width * central_fraction) / 2)
    return image[..., top : height - top, left : width - left].clone()


# --- mathematics ------------------------------------------------------------------------------------------------


@op(accepts=FLOATS, dtype=SAME)
def gamma_of(x: Tensor) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
    return torch.lgamma(x)


@op(accepts=FLOATS, dtype=SAME)
def gamma_digamma(x: Tensor) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
    return torch.digamma(x)


@op(accepts=FLOATS, dtype=SAME, differentiable=False)
def gamma_lower(a: Tensor, x: Tensor) -> Tensor:
    """The lower incomplete gamma function, as a part of the whole."""
    return torch.special.gammainc(a, x)


@op(accepts=FLOATS, dtype=SAME)
def log_beta(x: Tensor, y: Tensor) -> Tensor:
    """The logarithm of the beta function."""
    return torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y)


@op(accepts=FLOATS, dtype=UNCHECKED)
def moments_of(x: Tensor, axis: Any = None, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
    """Mean and variance along axes."""
    variance, mean = torch.var_mean(
        x, normalize_axes(() if axis is None else axis, x.ndim), correction=0, keepdim=keep_dims
    )
    return mean, variance

"""Image quality and gradients: PSNR, SSIM, multi-scale SSIM, image_gradients."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["image_gradients", "ms_ssim", "psnr", "ssim"]


@op(dtype=UNCHECKED)
def image_gradients(images: Tensor) -> tuple[Tensor, Tensor]:
    """Differences of each pixel to the one below and to the one on the right; 0 at the edges."""
    if images.ndim != 4:
        raise ArgumentValueError(
            f"For 'ImageGradients', the dimension of 'images' must be 4d, but got {images.ndim}."
        )
    down = F.pad(images[:, :, 1:] - images[:, :, :-1], (0, 0, 0, 1))
    right = F.pad(images[..., 1:] - images[..., :-1], (0, 1))
    return down, right


def _check_same_shape(name: str, a: Tensor, b: Tensor) -> None:
    if a.dtype is not b.dtype:
        raise ArgumentTypeError(
            f"For '{name}', the images must have one type, but got {a.dtype} and {b.dtype}."
        )
    if a.shape != b.shape or a.ndim != 4:
        raise ArgumentValueError(
            f"For '{name}', the images must have one shape (N, C, H, W), but got {list(a.shape)} and {list(b.shape)}."
        )


def _to_unit_range(image: Tensor, max_val: float) -> tuple[Tensor, float]:
    """Pixels as floats in [0, 1], or in [0, max_val] if they are floats already."""
    if image.is_floating_point():
        return image, max_val
    return image.float() / torch.iinfo(image.dtype).max, max_val / torch.iinfo(image.dtype).max


@op(dtype=UNCHECKED)
def psnr(img1: Tensor, img2: Tensor, max_val: float = 1.0) -> Tensor:
    """Peak signal-to-noise ratio of each pair of images, in decibels."""
    _check_same_shape("PSNR", img1, img2)
    (a, top), (b, _) = _to_unit_range(img1, max_val), _to_unit_range(img2, max_val)
    return 10 * torch.log10(top**2 / (a - b).square().mean((-3, -2, -1)))


def _ssim_per_channel(
    a: Tensor, b: Tensor, weight: Tensor, top: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Structural similarity of each channel, and its contrast and structure part."""
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
def ssim(
    img1: Tensor, img2: Tensor, weight: Tensor, max_val: float = 1.0, k1: float = 0.01, k2: float = 0.03
) -> Tensor:
    """Structural similarity index of each pair of images, with `weight` as the window."""
    _check_same_shape("SSIM", img1, img2)
    _check_window_fits("SSIM", img1, weight)
    (a, top), (b, _) = _to_unit_range(img1, max_val), _to_unit_range(img2, max_val)
    return _ssim_per_channel(a, b, weight, top, k1, k2)[0].mean(1)


@op(dtype=UNCHECKED)
def ms_ssim(
    img1: Tensor,
    img2: Tensor,
    weight: Tensor,
    powers: tuple[float, ...],
    max_val: float = 1.0,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Multi-scale structural similarity: each scale has half the size of the one before, and an exponent."""
    _check_same_shape("MSSSIM", img1, img2)
    (a, top), (b, _) = _to_unit_range(img1, max_val), _to_unit_range(img2, max_val)
    whole = None
    for scale, power in enumerate(powers):
        if scale:
            a, b = F.avg_pool2d(a, 2), F.avg_pool2d(b, 2)
        _check_window_fits("MSSSIM", a, weight)
        both, contrast = _ssim_per_channel(a, b, weight, top, k1, k2)
        part = F.relu(both if scale == len(powers) - 1 else contrast).pow(power)
        whole = part if whole is None else whole * part
    return whole.mean(1)  # type: ignore[union-attr]

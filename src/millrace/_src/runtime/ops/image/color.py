"""Color conversion of images (..., 3): RGB and HSV, hue, saturation."""

from __future__ import annotations

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "AdjustHue",
    "AdjustSaturation",
    "HSVToRGB",
    "RGBToHSV",
    "adjust_hue",
    "adjust_saturation",
    "hsv_to_rgb",
    "rgb_to_hsv",
]


def _check_images(name: str, images: Tensor, least: int) -> None:
    if images.ndim < least or images.shape[-1] != 3:
        raise ArgumentValueError(
            f"For '{name}', the images must have at least {least} axes and 3 channels in the last, but got "
            f"{list(images.shape)}."
        )


def _compute_hsv(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    red, green, blue = images.unbind(-1)
    value = images.amax(-1)
    spread = value - images.amin(-1)
    saturation = torch.where(value > 0, spread / torch.where(value > 0, value, 1.0), 0.0)
    safe = torch.where(spread > 0, spread, 1.0)
    hue = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, (blue - red) / safe + 2, (red - green) / safe + 4),
    )
    hue = torch.where(spread > 0, hue / 6, 0.0)
    return torch.where(hue < 0, hue + 1, hue), saturation, value


def _compute_rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    spread = saturation * value
    six = hue * 6
    parts = [(six - 3).abs() - 1, 2 - (six - 2).abs(), 2 - (six - 4).abs()]
    return torch.stack([value - spread + spread * part.clamp(0, 1) for part in parts], -1)


@op(accepts=FLOATS, dtype=SAME)
def rgb_to_hsv(images: Tensor) -> Tensor:
    """Convert RGB to hue, saturation and value, all in [0, 1]."""
    _check_images("RGBToHSV", images, 1)
    return torch.stack(_compute_hsv(images), -1)


@op(accepts=FLOATS, dtype=SAME)
def hsv_to_rgb(x: Tensor) -> Tensor:
    """Convert hue, saturation and value of images (N, H, W, 3) to RGB."""
    if x.ndim != 4:
        raise ArgumentValueError(f"For 'HSVToRGB', the input must have 4 axes, but got {list(x.shape)}.")
    _check_images("HSVToRGB", x, 4)
    return _compute_rgb(*x.unbind(-1))


@op(accepts=FLOATS, dtype=SAME)
def adjust_hue(image: Tensor, delta: Tensor) -> Tensor:
    """Rotate the hue of images by `delta`, a fraction of the color circle."""
    _check_images("AdjustHue", image, 3)
    hue, saturation, value = _compute_hsv(image)
    return _compute_rgb(torch.remainder(hue + delta, 1), saturation, value)


@op(accepts=FLOATS, dtype=SAME)
def adjust_saturation(image: Tensor, scale: Tensor) -> Tensor:
    """Multiply the saturation of images by `scale`, clamped to [0, 1]."""
    _check_images("AdjustSaturation", image, 3)
    hue, saturation, value = _compute_hsv(image)
    return _compute_rgb(hue, (saturation * scale).clamp(0, 1), value)


RGBToHSV = primitive("RGBToHSV", rgb_to_hsv)
HSVToRGB = primitive("HSVToRGB", hsv_to_rgb)
AdjustHue = primitive("AdjustHue", adjust_hue)
AdjustSaturation = primitive("AdjustSaturation", adjust_saturation)

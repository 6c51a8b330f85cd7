"""Brightness, contrast, saturation, hue, sharpness, blur and channel conversion. Arrays are <H,W,C> in RGB."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import DataError

from .enums import ConvertMode
from .lazy_imports import Image, ImageEnhance, ImageOps, cv2
from .validation import Array, as_array, check_image, check_pil_image, describe, is_pil, restore_channel_axis

__all__ = [
    "brightness",
    "contrast",
    "convert",
    "gamma",
    "gaussian_blur",
    "grayscale",
    "hue",
    "invert",
    "lighting",
    "posterize",
    "saturation",
    "sharpness",
    "solarize",
]


def _blend(first: Array, second: Array, weight: Any) -> Array:
    """Weighted sum: `weight` of the first and the rest of the second, rounded and clipped to the type's range.

    The order decides which product OpenCV rounds before it adds: each caller uses MindSpore's order.
    """
    weight = np.float32(weight)
    return cv2.addWeighted(first, float(weight), second, float(np.float32(1) - weight), 0)


def _as_rgb(op: str, x: Array) -> Array:
    check_image(op, x, ranks=(3,), channels=(3,))
    return x.view(np.uint8) if x.dtype == np.bool_ else x


def brightness(x: Any, factor: float, op: str = "AdjustBrightness") -> Any:
    """Multiply all values by a factor."""
    if is_pil(x):
        return ImageEnhance.Brightness(x).enhance(factor)
    check_image(op, x, channels=(1, 3))
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    scaled = restore_channel_axis(_call_opencv(op, lambda: _blend(flat, np.zeros_like(flat), factor), x), x)
    return scaled.view(np.bool_) if x.dtype == np.bool_ else scaled


def contrast(x: Any, factor: float, op: str = "AdjustContrast") -> Any:
    """Move values away from the mean grey (factor above 1) or towards it."""
    if is_pil(x):
        return ImageEnhance.Contrast(x).enhance(factor)
    x = _as_rgb(op, x)
    mean = cv2.mean(_call_opencv(op, lambda: cv2.cvtColor(x, cv2.COLOR_RGB2GRAY), x))[0]
    return _blend(np.full_like(x, mean if x.dtype.kind == "f" else round(mean)), x, 1 - np.float32(factor))


def saturation(x: Any, factor: float, op: str = "AdjustSaturation") -> Any:
    """Move colours away from their grey (factor above 1) or towards it."""
    if is_pil(x):
        return ImageEnhance.Color(x).enhance(factor)
    x = _as_rgb(op, x)
    grey = _call_opencv(op, lambda: cv2.cvtColor(cv2.cvtColor(x, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB), x)
    return _blend(grey, x, 1 - np.float32(factor))


def hue(x: Any, factor: float, op: str = "AdjustHue") -> Any:
    """Rotate the hue by a share of the colour circle."""
    if is_pil(x):
        return _hue_pil(x, factor)
    x = _as_rgb(op, x)
    hsv = _call_opencv(op, lambda: cv2.cvtColor(x, cv2.COLOR_RGB2HSV_FULL), x)
    if hsv.dtype != np.uint8:
        raise DataError(f"{op}: only images of uint8 have a hue, but got {describe(x)}.")
    hsv[:, :, 0] += np.uint8(int(factor * 255) % 256)
    return cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB_FULL)


def _hue_pil(image: Any, factor: float) -> Any:
    if image.mode in ("L", "1", "I", "F"):
        return image
    colour, *rest = image.convert("HSV").split()
    shifted = np.asarray(colour) + np.uint8(int(factor * 255) % 256)
    return Image.merge("HSV", (Image.fromarray(shifted), *rest)).convert(image.mode)


def gamma(x: Any, power: float, gain: float) -> Any:
    """Gamma correction: 255 * gain * (x / 255) ** power."""
    if is_pil(x):
        values = [int((255 + 1 - 0.001) * gain * pow(v / 255.0, power)) for v in range(256)]
        bands = len(x.getbands())
        return x.point(values * bands) if bands in (1, 3) else x
    if x.ndim > 3:
        return np.stack([gamma(image, power, gain) for image in x])
    check_image("AdjustGamma", x, channels=(1, 3))
    if x.dtype.kind == "f":
        scaled = x.astype(np.float32) * np.float32(gain)
        # computed in float64 and rounded: the last bits of a power depend on the processor
        result = np.power(scaled.astype(np.float64), float(np.float32(power)))
        return np.clip(result, 0, 1).astype(np.float32)
    if x.dtype != np.uint8:
        raise DataError(f"AdjustGamma: only images of uint8 or floats are adjusted, but got {describe(x)}.")
    levels = np.arange(256) / 255.0
    table = np.clip(np.floor((255 + 1 - 1e-3) * gain * levels**power), 0, 255).astype(np.uint8)
    return table[x]


_SMOOTHING_KERNEL = np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]], np.float32) / np.float32(13.0)


def sharpness(x: Any, factor: float, op: str = "AdjustSharpness") -> Any:
    """Move values away from the blurred image (factor above 1) or towards it; the outermost pixels stay."""
    if is_pil(x):
        return ImageEnhance.Sharpness(x).enhance(factor)
    check_image(op, x)
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    soft = restore_channel_axis(_call_opencv(op, lambda: cv2.filter2D(flat, -1, _SMOOTHING_KERNEL), x), flat)
    soft[0], soft[-1], soft[:, 0], soft[:, -1] = flat[0], flat[-1], flat[:, 0], flat[:, -1]
    return restore_channel_axis(_blend(flat, soft, factor), flat)


def _call_opencv(op: str, call: Any, x: Array) -> Any:
    try:
        return call()
    except cv2.error as error:
        raise DataError(f"{op}: OpenCV does not accept {describe(x)}: {error.err}") from error


def gaussian_blur(x: Any, kernel: tuple[int, int], sigma: tuple[float, ...]) -> Array:
    """Gaussian blur with a kernel of (width, height); a sigma of zero is computed from the kernel size."""
    x = as_array(x)
    check_image("GaussianBlur", x)
    if sigma[0] == 0:  # OpenCV 5 has tables for some sizes, OpenCV 4 always uses this formula
        sigma = (0.3 * ((kernel[0] - 1) * 0.5 - 1) + 0.8, sigma[1])
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    blurred = _call_opencv(
        "GaussianBlur", lambda: cv2.GaussianBlur(flat, kernel, sigmaX=sigma[0], sigmaY=sigma[1]), x
    )
    return restore_channel_axis(blurred, x)


def invert(x: Any, op: str = "Invert") -> Any:
    """Invert: 255 minus the value."""
    if is_pil(x):
        return ImageOps.invert(x)
    check_image(op, x, ranks=(3,), channels=(3,))
    if x.dtype == np.uint8:
        return cv2.bitwise_not(x)
    if x.dtype == np.bool_:
        return cv2.bitwise_not(x.view(np.uint8)).view(np.bool_)
    if x.dtype == np.int8:
        return np.minimum(255 - x.astype(np.int16), 127).astype(np.int8)
    return _call_opencv(op, lambda: cv2.subtract(np.full_like(x, 255), x), x)


def posterize(x: Any, bits: int, op: str = "Posterize") -> Array:
    """Keep only the highest bits of each value."""
    x = as_array(x)
    check_image(op, x)
    if x.dtype.itemsize != 1:
        raise DataError(f"{op}: input image should be uint8, but got {describe(x)}.")
    return x.view(np.uint8) & np.uint8((256 - (1 << (8 - bits))) & 255)


def solarize(x: Any, low: float, high: float, op: str = "Solarize") -> Array:
    """Invert values from low to high; where both are equal, all values from there on."""
    x = as_array(x)
    check_image(op, x, channels=(1, 3))
    if x.dtype.itemsize == 1 and x.dtype != np.uint8:
        raise DataError(f"{op}: input image should be uint8 or wider, but got {describe(x)}.")
    inside = (x >= low) if low == high else (x >= low) & (x <= high)
    return np.where(inside, cv2.subtract(np.full_like(x, 255), x).reshape(x.shape), x)


_MODES = (
    "BGR2BGRA",
    "BGRA2BGR",
    "BGR2RGBA",
    "RGBA2BGR",
    "BGR2RGB",
    "BGRA2RGBA",
    "BGR2GRAY",
    "RGB2GRAY",
    "GRAY2BGR",
    "GRAY2BGRA",
    "BGRA2GRAY",
    "RGBA2GRAY",
)


def convert(x: Any, mode: ConvertMode) -> Array:
    """Convert the colour channels: other channels, or another order."""
    x = as_array(x)
    check_image("ConvertColor", x, channels=(1, 3, 4))
    code = getattr(cv2, "COLOR_" + _MODES[mode])
    return _call_opencv("ConvertColor", lambda: cv2.cvtColor(x, code), x)


def grayscale(image: Any, channels: int, op: str = "Grayscale") -> Any:
    """Convert a Pillow image to grey, with one channel or three equal ones."""
    check_pil_image(op, image)
    grey = image.convert("L")
    return grey if channels == 1 else Image.merge("RGB", (grey, grey, grey))


_PCA_COMPONENTS = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ]
)


def lighting(x: Any, weights: Array) -> Any:
    """AlexNet's PCA noise: add ImageNet's eigenvectors times three weights to the channels."""
    # added one by one: the last bits of a BLAS product depend on the processor
    shift = (
        _PCA_COMPONENTS[:, 0] * weights[0]
        + _PCA_COMPONENTS[:, 1] * weights[1]
        + _PCA_COMPONENTS[:, 2] * weights[2]
    )
    if is_pil(x):
        image = x if x.mode == "RGB" else x.convert("RGB")
        return Image.fromarray(np.uint8(np.clip(np.asarray(image) + shift, 0, 255)))
    check_image("RandomLighting", x, ranks=(3,), channels=(3,))
    lit = x.astype(np.float64) + shift
    return (np.clip(lit, 0, 255) if x.dtype == np.uint8 else lit).astype(x.dtype)

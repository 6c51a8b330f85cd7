"""Resampling with kernels and 3-D upsampling: scale_and_translate, upsample_trilinear_3d."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_shape
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ScaleAndTranslate",
    "UpsampleNearest3D",
    "UpsampleTrilinear3D",
    "scale_and_translate",
    "upsample_nearest_3d",
    "upsample_trilinear_3d",
]


def _lanczos_kernel(radius: int) -> tuple[float, Callable[[Tensor], Tensor]]:
    return radius, lambda x: torch.sinc(x) * torch.sinc(x / radius)


def _cubic_kernel(b: float, c: float) -> Callable[[Tensor], Tensor]:
    """Family of cubic kernels of Mitchell and Netravali."""

    def kernel(x: Tensor) -> Tensor:
        near = ((12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)) / 6
        far = ((-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6
        return torch.where(x < 1, near, far)

    return kernel


# kernel -> radius, and weight as a function of the distance
_KERNELS: dict[str, tuple[float, Callable[[Tensor], Tensor]]] = {
    "lanczos1": _lanczos_kernel(1),
    "lanczos3": _lanczos_kernel(3),
    "lanczos5": _lanczos_kernel(5),
    "gaussian": (1.5, lambda x: torch.exp(-2 * x.square())),
    "box": (0.5, lambda x: torch.where(x < 0.5, 1.0, 0.5).to(x.dtype)),
    "triangle": (1.0, lambda x: 1 - x),
    "keyscubic": (2.0, _cubic_kernel(0.0, 0.5)),
    "mitchellcubic": (2.0, _cubic_kernel(1 / 3, 1 / 3)),
}


def _resampling_weights(
    kernel: str, antialias: bool, length: int, wanted: int, scale: Tensor, shift: Tensor
) -> Tensor:
    """Weight of each input element (column) for each output element (row) of an axis."""
    radius, weight = _KERNELS[kernel]
    inverse = 1 / scale
    stretch = inverse.clamp_min(1) if antialias else torch.ones_like(inverse)
    like: Any = {"device": scale.device, "dtype": scale.dtype}
    at = (torch.arange(wanted, **like) + 0.5) * inverse - shift * inverse
    away = (torch.arange(length, **like) + 0.5 - at.unsqueeze(1)).abs() / stretch
    near = away <= radius if kernel == "box" else away < radius
    weights = torch.where(near, weight(away), 0.0)
    total = weights.sum(1, keepdim=True)
    held = total.abs() > 1000 * torch.finfo(torch.float32).eps
    weights = torch.where(held, weights / torch.where(held, total, 1.0), 0.0)
    return torch.where(((at >= 0) & (at <= length)).unsqueeze(1), weights, 0.0)


@op(dtype=UNCHECKED)
def scale_and_translate(
    images: Tensor,
    size: Any,
    scale: Tensor,
    translation: Tensor,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
) -> Tensor:
    """Scale and translate images (batch, height, width, channels) onto a grid of the given size. With `antialias` the
    kernel is widened where images shrink.
    """
    name = "ScaleAndTranslate"
    if kernel_type not in _KERNELS:
        raise ArgumentValueError(
            f"For '{name}', 'kernel_type' must be one of {sorted(_KERNELS)}, but got {kernel_type!r}."
        )
    if not isinstance(antialias, bool):
        raise ArgumentTypeError(f"For '{name}', 'antialias' must be a bool, but got {antialias!r}.")
    if images.ndim != 4 or scale.shape != (2,) or translation.shape != (2,):
        raise ArgumentValueError(
            f"For '{name}', the images must have the shape (B, H, W, C), scale and translation two numbers "
            f"each, but the "
            f"shapes are {list(images.shape)}, {list(scale.shape)} and {list(translation.shape)}."
        )
    wanted = to_shape(size)
    wide = images.float() if images.dtype is not torch.float64 else images
    rows, columns = (
        _resampling_weights(
            kernel_type, antialias, images.shape[1 + axis], wanted[axis], scale[axis], translation[axis]
        ).to(wide.dtype)
        for axis in (0, 1)
    )
    return torch.einsum("ih,bhwc,jw->bijc", rows, wide, columns)


ScaleAndTranslate = primitive("ScaleAndTranslate", scale_and_translate, ("kernel_type", "antialias"))


def _parse_sizes(name: str, x: Tensor, output_size: Any, scales: Any) -> tuple[int, ...]:
    """Output sizes, given directly or as scale factors."""
    if x.ndim != 5:
        raise ArgumentValueError(f"For '{name}', the input must have 5 axes, but got {list(x.shape)}.")
    if (output_size is None) == (scales is None):
        raise ArgumentValueError(f"For '{name}', expected exactly one of 'output_size' and 'scales'.")
    requested = (
        output_size if scales is None else [int(n * s) for n, s in zip(x.shape[2:], scales, strict=False)]
    )
    if not isinstance(requested, (tuple, list)) or len(requested) != 3:
        raise ArgumentValueError(f"For '{name}', there must be 3 sizes or factors, but got {requested!r}.")
    return tuple(requested)


@op(dtype=SAME)
def upsample_trilinear_3d(
    x: Tensor, output_size: Any = None, scales: Any = None, align_corners: bool = False
) -> Tensor:
    """Trilinear upsampling of (N, C, D, H, W)."""
    size = _parse_sizes("UpsampleTrilinear3D", x, output_size, scales)
    return F.interpolate(x, size, mode="trilinear", align_corners=align_corners)


@op(dtype=SAME)
def upsample_nearest_3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """Nearest-neighbor upsampling of (N, C, D, H, W)."""
    return F.interpolate(x, _parse_sizes("UpsampleNearest3D", x, output_size, scales), mode="nearest")


UpsampleTrilinear3D = primitive("UpsampleTrilinear3D", upsample_trilinear_3d, init=("align_corners",))
UpsampleNearest3D = primitive("UpsampleNearest3D", upsample_nearest_3d, init=())

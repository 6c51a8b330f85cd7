"""Images seen through a window or another grid: glimpses, scaling with a kernel, the largest of a neighbourhood."""

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


def _lanczos(radius: int) -> tuple[float, Callable[[Tensor], Tensor]]:
    return radius, lambda x: torch.sinc(x) * torch.sinc(x / radius)


def _cubic(b: float, c: float) -> Callable[[Tensor], Tensor]:
    """The family of cubic kernels of Mitchell and Netravali."""

    def kernel(x: Tensor) -> Tensor:
        near = ((12 - 9 * b - 6 * c) * x**3 + (-18 + 12 * b + 6 * c) * x**2 + (6 - 2 * b)) / 6
        far = ((-b - 6 * c) * x**3 + (6 * b + 30 * c) * x**2 + (-12 * b - 48 * c) * x + (8 * b + 24 * c)) / 6
        return torch.where(x < 1, near, far)

    return kernel


# the kernels: how far each reaches, and its weight at a distance from 0 on
_KERNELS: dict[str, tuple[float, Callable[[Tensor], Tensor]]] = {
    "lanczos1": _lanczos(1),
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": (1.5, lambda x: torch.exp(-2 * x.square())),
    "box": (0.5, lambda x: torch.where(x < 0.5, 1.0, 0.5).to(x.dtype)),
    "triangle": (1.0, lambda x: 1 - x),
    "keyscubic": (2.0, _cubic(0.0, 0.5)),
    "mitchellcubic": (2.0, _cubic(1 / 3, 1 / 3)),
}


def _weights(kernel: str, antialias: bool, given: int, wanted: int, scale: Tensor, shift: Tensor) -> Tensor:
    """What each element (column) of an axis gives to each of the new ones (rows)."""
    reach, weight = _KERNELS[kernel]
    inverse = 1 / scale
    stretch = inverse.clamp_min(1) if antialias else torch.ones_like(inverse)
    like: Any = {"device": scale.device, "dtype": scale.dtype}
    at = (torch.arange(wanted, **like) + 0.5) * inverse - shift * inverse
    away = (torch.arange(given, **like) + 0.5 - at.unsqueeze(1)).abs() / stretch
    near = away <= reach if kernel == "box" else away < reach
    made = torch.where(near, weight(away), 0.0)
    total = made.sum(1, keepdim=True)
    held = total.abs() > 1000 * torch.finfo(torch.float32).eps
    made = torch.where(held, made / torch.where(held, total, 1.0), 0.0)
    return torch.where(((at >= 0) & (at <= given)).unsqueeze(1), made, 0.0)


@op(dtype=UNCHECKED)
def scale_and_translate(
    images: Tensor,
    size: Any,
    scale: Tensor,
    translation: Tensor,
    kernel_type: str = "lanczos3",
    antialias: bool = True,
) -> Tensor:
    """Images (batch, height, width, channels) scaled and moved onto a grid of the given size, with a kernel that is
    stretched where they shrink (`antialias`)."""
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
        _weights(
            kernel_type, antialias, images.shape[1 + axis], wanted[axis], scale[axis], translation[axis]
        ).to(wide.dtype)
        for axis in (0, 1)
    )
    return torch.einsum("ih,bhwc,jw->bijc", rows, wide, columns)


ScaleAndTranslate = primitive("ScaleAndTranslate", scale_and_translate, ("kernel_type", "antialias"))


def _sizes(name: str, x: Tensor, output_size: Any, scales: Any) -> tuple[int, ...]:
    """The wanted sizes, said by them or by factors."""
    if x.ndim != 5:
        raise ArgumentValueError(f"For '{name}', the input must have 5 axes, but got {list(x.shape)}.")
    if (output_size is None) == (scales is None):
        raise ArgumentValueError(
            f"For '{name}', one of 'output_size' and 'scales' must be given, and one only."
        )
    given = output_size if scales is None else [int(n * s) for n, s in zip(x.shape[2:], scales, strict=False)]
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise ArgumentValueError(f"For '{name}', there must be 3 sizes or factors, but got {given!r}.")
    return tuple(given)


@op(dtype=SAME)
def upsample_trilinear_3d(
    x: Tensor, output_size: Any = None, scales: Any = None, align_corners: bool = False
) -> Tensor:
    """Linear along the three axes of (N, C, D, H, W)."""
    size = _sizes("UpsampleTrilinear3D", x, output_size, scales)
    return F.interpolate(x, size, mode="trilinear", align_corners=align_corners)


@op(dtype=SAME)
def upsample_nearest_3d(x: Tensor, output_size: Any = None, scales: Any = None) -> Tensor:
    """The nearest element along the three axes of (N, C, D, H, W)."""
    return F.interpolate(x, _sizes("UpsampleNearest3D", x, output_size, scales), mode="nearest")


UpsampleTrilinear3D = primitive("UpsampleTrilinear3D", upsample_trilinear_3d, init=("align_corners",))


UpsampleNearest3D = primitive("UpsampleNearest3D", upsample_nearest_3d, init=())

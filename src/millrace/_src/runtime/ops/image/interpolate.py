"""Images seen through a window or another grid: glimpses, scaling with a kernel, the largest of a neighbourhood."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_shape
from millrace._src.runtime.ops.declare.dtype_rules import REAL, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.rng_state import op_generator

__all__ = [
    "Dilation2D",
    "ExtractGlimpse",
    "FractionalAvgPool",
    "FractionalMaxPool",
    "ScaleAndTranslate",
    "dilation",
    "fractional_avg_pool",
    "fractional_max_pool",
    "glimpse",
    "scale_and_translate",
]


@op(dtype=UNCHECKED, differentiable=False, random=True)
def glimpse(
    x: Tensor,
    size: Any,
    offsets: Tensor,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    noise: str = "uniform",
) -> Tensor:
    """A window of the given size about a point of each image (batch, height, width, channels). Outside there is noise:
    uniform over what the values are, gaussian with their mean and deviation, or zeros."""
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
    return torch.where(inside.unsqueeze(-1), seen, _noise(x, seen, noise))


def _noise(x: Tensor, like: Tensor, noise: str) -> Tensor:
    """What is seen outside of an image."""
    if noise == "zero":
        return torch.zeros_like(like)
    if noise == "uniform":
        low, high = torch.aminmax(x)
        return torch.rand_like(like) * (high - low) + low
    return torch.randn_like(like) * x.std(unbiased=False) + x.mean()


ExtractGlimpse = primitive("ExtractGlimpse", glimpse, ("centered", "normalized", "uniform_noise", "noise"))


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


def _four(label: str, value: Any) -> tuple[int, int]:
    """The numbers for the two axes of images, given as one, two or four (the first two of which are 1)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = (1, 1, value, value)
    if not isinstance(value, (tuple, list)) or not all(type(part) is int for part in value):
        raise ArgumentTypeError(
            f"For 'Dilation2D', '{label}' must be an int or a tuple of ints, but got {value!r}."
        )
    if len(value) == 2:
        value = (1, 1, *value)
    if len(value) != 4 or tuple(value[:2]) != (1, 1) or value[2] < 1 or value[3] < 1:
        raise ArgumentValueError(
            f"For 'Dilation2D', '{label}' must be (1, 1, height, width), but got {value!r}."
        )
    return value[2], value[3]


@op(accepts=REAL, dtype=UNCHECKED)
def dilation(
    x: Tensor, filter: Tensor, stride: Any, dilation: Any, pad_mode: str = "SAME", data_format: str = "NCHW"
) -> Tensor:
    """The largest of neighbour plus weight, channel by channel. MindSpore's kernel for the CPU cannot be called."""
    name = "Dilation2D"
    (down, right), (far, wide) = _four("stride", stride), _four("dilation", dilation)
    if not isinstance(pad_mode, str) or pad_mode.upper() not in ("SAME", "VALID"):
        raise ArgumentValueError(f"For '{name}', 'pad_mode' must be SAME or VALID, but got {pad_mode!r}.")
    if data_format != "NCHW":
        raise ArgumentValueError(f"For '{name}', 'data_format' must be NCHW, but got {data_format!r}.")
    if x.ndim != 4 or filter.ndim != 3 or x.shape[1] != filter.shape[0]:
        raise ArgumentValueError(
            f"For '{name}', 'x' must have the shape (N, C, H, W) and 'filter' (C, H, W), but got {list(x.shape)} and "
            f"{list(filter.shape)}."
        )
    reach = [(length - 1) * step + 1 for length, step in zip(filter.shape[1:], (far, wide), strict=True)]
    if pad_mode.upper() == "SAME":
        lack = [
            max((math.ceil(length / step) - 1) * step + part - length, 0)
            for length, step, part in zip(x.shape[2:], (down, right), reach, strict=True)
        ]
        least = float("-inf") if x.is_floating_point() else torch.iinfo(x.dtype).min
        x = F.pad(
            x, (lack[1] // 2, lack[1] - lack[1] // 2, lack[0] // 2, lack[0] - lack[0] // 2), value=least
        )
    seen = x.unfold(2, reach[0], down)[..., ::far].unfold(3, reach[1], right)[..., ::wide]
    return (seen + filter[:, None, None]).amax((-2, -1))


Dilation2D = primitive("Dilation2D", dilation, ("stride", "dilation", "pad_mode", "data_format"))


def _pooling_boundaries(length: int, ratio: float, pseudo: bool, generator: torch.Generator | None) -> Tensor:
    """Where the windows of an axis begin, and the last ends: lengths are the ratio rounded either way, at random."""
    count = int(length / ratio)
    draws = torch.rand(count, generator=generator, device="cpu")
    if pseudo:
        step = length / count
        room = max(step - 1, 0) if step >= 1 else 0
        begin = torch.ceil(step * (torch.arange(count) + draws[0] * min(room, 1))).long()
        cuts = torch.cat([begin - begin[0], torch.tensor([length])])
        return cuts.clamp_max(length)
    short = length // count
    extra = torch.zeros(count, dtype=torch.int64).index_fill_(
        0, torch.argsort(draws)[: length - short * count], 1
    )
    return torch.cat([torch.zeros(1, dtype=torch.int64), torch.cumsum(extra + short, 0)])


def _fractional_pool(
    name: str, x: Tensor, o: dict[str, Any], reduce: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Images (batch, height, width, channels) pooled over windows of about the ratio's size, with the cuts."""
    ratio = o["pooling_ratio"]
    if (
        not isinstance(ratio, (list, tuple))
        or len(ratio) != 4
        or not all(isinstance(part, float) for part in ratio)
    ):
        raise ArgumentTypeError(f"For '{name}', 'pooling_ratio' must be four floats, but got {ratio!r}.")
    if ratio[0] != 1.0 or ratio[3] != 1.0 or ratio[1] < 1.0 or ratio[2] < 1.0:
        raise ArgumentValueError(
            f"For '{name}', 'pooling_ratio' must be (1.0, rows, columns, 1.0) of at least 1.0, but got {ratio!r}."
        )
    if x.ndim != 4 or x.shape[1] < ratio[1] or x.shape[2] < ratio[2]:
        raise ArgumentValueError(
            f"For '{name}', 'x' must have the shape (N, H, W, C) and be as large as the ratio, but got {list(x.shape)}."
        )
    generator = op_generator(o["seed"], o["seed2"], torch.device("cpu"))
    cuts = [
        _pooling_boundaries(x.shape[1 + axis], ratio[1 + axis], o["pseudo_random"], generator)
        for axis in (0, 1)
    ]
    places, inside = [], []
    for axis, cut in enumerate(cuts):
        begin, end = cut[:-1], cut[1:] + bool(o["overlapping"])
        end = end.clamp_max(x.shape[1 + axis]).unsqueeze(1)
        at = begin.unsqueeze(1) + torch.arange(math.ceil(ratio[1 + axis]) + 2)
        inside.append((at < end).to(x.device))
        places.append(torch.minimum(at, end - 1).to(x.device))
    rows, columns = places[0][:, None, :, None], places[1][None, :, None, :]
    kept = inside[0][:, None, :, None] & inside[1][None, :, None, :]
    # (batch, row, column, window, channel)
    seen = x[:, rows, columns].flatten(3, 4)
    made = reduce(seen, kept.flatten(2).unsqueeze(-1))
    return made, cuts[0].to(x.device), cuts[1].to(x.device)


@op(accepts=REAL, dtype=UNCHECKED, random=True)
def fractional_max_pool(
    x: Tensor,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest of windows whose size is the ratio on average, and where they were cut: rows, columns."""
    return _fractional_pool("FractionalMaxPool", x, locals(), lambda seen, kept: seen.amax(3))


@op(accepts=REAL, dtype=UNCHECKED, random=True)
def fractional_avg_pool(
    x: Tensor,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
) -> tuple[Tensor, Tensor, Tensor]:
    """The mean of windows whose size is the ratio on average, and where they were cut: rows, columns."""

    def mean(seen: Tensor, kept: Tensor) -> Tensor:
        total = torch.where(kept, seen, 0).sum(3)
        count = kept.sum(2)
        return (
            total / count
            if seen.is_floating_point()
            else torch.div(total, count, rounding_mode="trunc").to(seen.dtype)
        )

    return _fractional_pool("FractionalAvgPool", x, locals(), mean)


FractionalMaxPool = primitive("FractionalMaxPool", fractional_max_pool)
FractionalAvgPool = primitive("FractionalAvgPool", fractional_avg_pool)

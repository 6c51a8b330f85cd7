"""Kernels for batches <N,H,W>, <N,H,W,C> or <N,C,H,W>: casts, normalization, channel order, flips, colors.

Each takes the batch, the arguments of its step, and ``rows``: the row parameters of its step, or the random samples
themselves if the step has no function for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

__all__ = ["KERNELS"]

Batch = torch.Tensor

# OpenCV's weights of red, green and blue for gray, times 2 ** 15.
_GREY, _GREY_SHIFT = (9798, 19235, 3735), 15


@functools.lru_cache(maxsize=256)
def _cached_constant(values: tuple[float, ...], shape: tuple[int, ...], device: torch.device) -> Batch:
    """A small array, cached on the device: copying it for each batch would synchronize the device.

    A Python scalar as divisor is not used: PyTorch multiplies by its inverse, which rounds twice.
    """
    return torch.tensor(values, dtype=torch.float32).reshape(shape).to(device)


def to_device(array: Any, device: torch.device) -> Batch:
    """Copy a host array to the device without synchronization."""
    tensor = torch.from_numpy(np.require(array, requirements=["C", "W"]))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


def hwc_to_chw(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """<N,H,W,C> becomes <N,C,H,W>."""
    return x if x.ndim == 3 else x.permute(0, 3, 1, 2).contiguous()


def normalize(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """(x - mean) / std in float32."""
    mean, std = args["mean"], args["std"]
    if x.ndim == 3:
        shape: tuple[int, ...] = (1,)
        mean, std = mean[:1], std[:1]
    else:
        shape = (1, 1, 1, len(mean)) if args["is_hwc"] else (1, len(mean), 1, 1)
    values = x if x.dtype == torch.uint8 else x.to(torch.float32)
    centered = values - _cached_constant(tuple(map(float, mean)), shape, x.device)
    return centered.div_(_cached_constant(tuple(map(float, std)), shape, x.device))


def rescale(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """x * factor + shift, rounded once to float32."""
    factor, shift = float(np.float32(args["factor"])), float(np.float32(args["shift"]))
    if shift == 0 and x.element_size() < 4:  # exact in 24 bits, so that only one rounding remains
        return x.to(torch.float32).mul_(factor)
    return x.to(torch.float64).mul_(factor).add_(shift).to(torch.float32)


def cast(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Cast to another dtype."""
    return x.to(getattr(torch, args["dtype"]))


def to_tensor(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Channels first, divided by 255, cast to another dtype."""
    planes = x[:, None] if x.ndim == 3 else hwc_to_chw(x, {}, None)
    return cast(rescale(planes, {"factor": 1.0 / 255.0, "shift": 0.0}, None), args, None)


def flip(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Flip all rows, or the rows selected by their random sample."""
    axis = (-1 if args["across"] else -2) if x.ndim == 3 else (-2 if args["across"] else -3)
    if rows is None:
        return x.flip(axis)
    now = np.asarray([bool(row[0]) for row in rows])
    if not now.any():
        return x
    here = to_device(now, x.device).reshape(-1, *[1] * (x.ndim - 1))
    return torch.where(here, x.flip(axis), x)


def lookup_table(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Map uint8 values by a lookup table; one table for all rows, or one per row."""
    tables = to_device(np.stack(rows), x.device)
    if len(tables) == 1:
        return tables[0][x.to(torch.int32)]
    first = torch.arange(len(x), dtype=torch.int32, device=x.device) * 256
    return tables.reshape(-1)[x.to(torch.int32) + first.reshape(-1, *[1] * (x.ndim - 1))]


def _to_grey(x: Batch) -> Batch:
    red, green, blue = (x[..., channel].to(torch.int32) for channel in range(3))
    weighted = red * _GREY[0] + green * _GREY[1] + blue * _GREY[2]
    return (weighted + (1 << (_GREY_SHIFT - 1))) >> _GREY_SHIFT


def _blend(first: Batch, second: Batch, factor: float) -> Batch:
    """Linear interpolation from `first` to `second` by `factor`, with the rounding order of the host."""
    share = np.float32(1) - np.float32(factor)
    blended = first.to(torch.float32) * float(share) + second.to(torch.float32) * float(np.float32(1) - share)
    return blended.round_().clamp_(0, 255).to(torch.uint8)


def contrast(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Adjust contrast: interpolate between the mean gray of the image and the image."""
    mean = _to_grey(x).flatten(1).sum(1).to(torch.float64) / (x.shape[1] * x.shape[2])
    return _blend(mean.round().reshape(-1, 1, 1, 1), x, args["factor"])


def saturation(x: Batch, args: dict[str, Any], rows: Any) -> Batch:
    """Adjust saturation: interpolate between the gray of each pixel and the pixel."""
    return _blend(_to_grey(x)[..., None], x, args["factor"])


KERNELS: dict[str, Callable[[Batch, dict[str, Any], Any], Batch]] = {
    "cast": cast,
    "contrast": contrast,
    "levels": lookup_table,
    "mirror": flip,
    "normalize": normalize,
    "planes": hwc_to_chw,
    "rescale": rescale,
    "saturation": saturation,
    "to_tensor": to_tensor,
}

"""NumPy mathematical functions: convolve, correlate, interp, gradient, trapz."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import normalize_axes as as_axes
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.type_promotion import promote_arrays, to_array, to_floating

__all__ = ["convolve", "correlate", "cross", "ediff1d", "gradient", "interp", "trapz", "unwrap_angles"]


def _sliding_product(a: Any, v: Any, mode: str) -> Tensor:
    """Sliding dot products of two vectors."""
    left, right = promote_arrays(a, v)
    if left.ndim != 1 or right.ndim != 1 or not left.numel() or not right.numel():
        raise ArgumentValueError(
            f"both must be vectors with elements: {tuple(left.shape)}, {tuple(right.shape)}."
        )
    if mode not in ("full", "same", "valid"):
        raise ArgumentValueError(f"the 'mode' must be 'full', 'same' or 'valid', but got {mode!r}.")
    common_dtype = torch.promote_types(left.dtype, right.dtype)
    work = common_dtype if common_dtype.is_floating_point else torch.float32
    left, right = left.to(work), right.to(work)
    swapped = right.numel() > left.numel()
    if swapped:
        left, right = right, left
    size = right.numel()
    products = F.conv1d(left.reshape(1, 1, -1), right.reshape(1, 1, -1), padding=size - 1).reshape(-1)
    products = products.flip(0) if swapped else products
    if mode == "same":
        products = products.narrow(0, size // 2 if swapped else (size - 1) // 2, left.numel())
    elif mode == "valid":
        products = products.narrow(0, size - 1, left.numel() - size + 1)
    return products.to(common_dtype)


@op("numpy", dtype=UNCHECKED)
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """Cross-correlation of two vectors."""
    return _sliding_product(a, v, mode)


@op("numpy", dtype=UNCHECKED)
def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """Convolution of two vectors."""
    left, right = to_array(a).reshape(-1), to_array(v).reshape(-1)
    if right.numel() > left.numel():
        left, right = right, left
    common_dtype = torch.promote_types(left.dtype, right.dtype)
    size = right.numel()
    products = _sliding_product(left.to(common_dtype), right.to(common_dtype).flip(0), "full")
    if mode == "same":
        return products.narrow(0, (size - 1) // 2, left.numel())
    if mode == "valid":
        return products.narrow(0, size - 1, left.numel() - size + 1)
    if mode != "full":
        raise ArgumentValueError(f"the 'mode' must be 'full', 'same' or 'valid', but got {mode!r}.")
    return products


@op("numpy", dtype=UNCHECKED)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Cross product of vectors with two or three elements."""
    if axis is not None:
        axisa = axisb = axisc = to_int(axis, "axis")
    left, right = promote_arrays(a, b)
    left, right = left.movedim(axisa, -1), right.movedim(axisb, -1)
    lengths = left.shape[-1], right.shape[-1]
    if not set(lengths) <= {2, 3}:
        raise ArgumentValueError(
            f"Incompatible dimensions for cross product: {lengths} (each must be 2 or 3)."
        )
    left, right = (F.pad(each, (0, 3 - each.shape[-1])) for each in (left, right))
    product = torch.linalg.cross(*torch.broadcast_tensors(left, right), dim=-1)
    return product[..., 2] if lengths == (2, 2) else product.movedim(-1, axisc)


@op("numpy", dtype=UNCHECKED)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """Linear interpolation between points; outside their range the first and last value, or `left` and `right`."""
    values, positions, heights = (to_floating(to_array(each)) for each in (x, xp, fp))
    if positions.ndim != 1 or positions.shape != heights.shape:
        raise ArgumentValueError(
            f"xp and fp must be vectors of one length: {positions.shape}, {heights.shape}."
        )
    values = values.to(positions.device).contiguous()  # a Python number becomes a tensor on the host
    after = torch.searchsorted(positions.contiguous(), values).clamp(1, max(positions.numel() - 1, 1))
    after = after.clamp(max=positions.numel() - 1)
    before = (after - 1).clamp(min=0)
    gap = positions[after] - positions[before]
    part = torch.where(gap == 0, 0.0, (values - positions[before]) / torch.where(gap == 0, 1.0, gap))
    interpolated = heights[before] + (heights[after] - heights[before]) * part.clamp(0, 1)
    if left is not None:
        interpolated = torch.where(values < positions[0], to_array(left).to(interpolated.dtype), interpolated)
    if right is not None:
        interpolated = torch.where(
            values > positions[-1], to_array(right).to(interpolated.dtype), interpolated
        )
    return interpolated


@op("numpy", dtype=UNCHECKED)
def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """Integral by the trapezoidal rule."""
    heights = to_floating(to_array(y))
    if x is not None:
        return torch.trapezoid(heights, to_floating(to_array(x)), dim=axis)
    return torch.trapezoid(heights, dx=dx, dim=axis)


@op("numpy:unwrap", dtype=UNCHECKED)
def unwrap_angles(p: Any, discont: float = math.pi, axis: int = -1) -> Tensor:
    """Unwrap angles along an axis: jumps greater than pi are removed by adding multiples of 2 pi."""
    angles = to_floating(to_array(p))
    step = torch.diff(angles, dim=axis)
    turn = torch.remainder(step + math.pi, 2 * math.pi) - math.pi
    turn = torch.where((turn == -math.pi) & (step > 0), math.pi, turn)
    correction = torch.where(torch.abs(step) < discont, 0.0, turn - step)
    start = torch.zeros_like(angles.narrow(axis, 0, 1))
    return angles + torch.cat((start, torch.cumsum(correction, axis)), axis)


@op("numpy", dtype=UNCHECKED)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Gradient by central differences along axes, one-sided at the ends; `varargs` are the distances."""
    tensor = to_floating(to_array(f))
    over = as_axes(axis, tensor.ndim)
    if edge_order != 1:
        raise ArgumentValueError(f"For 'gradient', 'edge_order' must be 1, but got {edge_order}.")
    gaps = list(varargs) or [1.0]
    gaps = gaps * len(over) if len(gaps) == 1 else gaps
    if len(gaps) != len(over):
        raise ArgumentTypeError(f"For 'gradient', there are {len(gaps)} distances for {len(over)} axes.")
    gradients = []
    for along, gap in zip(over, gaps):
        length = tensor.shape[along]
        if length < 2:
            raise ArgumentValueError("Shape of array too small to calculate a numerical gradient.")
        first = tensor.narrow(along, 1, 1) - tensor.narrow(along, 0, 1)
        last = tensor.narrow(along, length - 1, 1) - tensor.narrow(along, length - 2, 1)
        middle = (tensor.narrow(along, 2, length - 2) - tensor.narrow(along, 0, length - 2)) / 2
        gradients.append(torch.cat((first, middle, last), along) / gap)
    return gradients[0] if len(gradients) == 1 else gradients


@op("numpy", dtype=UNCHECKED)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """Differences of adjacent elements of the flattened tensor, with values before and after."""
    differences = torch.diff(to_array(ary).reshape(-1))
    parts = [to_begin, differences, to_end]
    return torch.cat([to_array(each).reshape(-1).to(differences.dtype) for each in parts if each is not None])

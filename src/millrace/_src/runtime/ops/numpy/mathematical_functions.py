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


def _sliding(a: Any, v: Any, mode: str) -> Tensor:
    """The sums of products of two vectors, one moved along the other."""
    left, right = promote_arrays(a, v)
    if left.ndim != 1 or right.ndim != 1 or not left.numel() or not right.numel():
        raise ArgumentValueError(
            f"both must be vectors with elements: {tuple(left.shape)}, {tuple(right.shape)}."
        )
    if mode not in ("full", "same", "valid"):
        raise ArgumentValueError(f"the 'mode' must be 'full', 'same' or 'valid', but got {mode!r}.")
    kind = torch.promote_types(left.dtype, right.dtype)
    work = kind if kind.is_floating_point else torch.float32
    left, right = left.to(work), right.to(work)
    swapped = right.numel() > left.numel()
    if swapped:
        left, right = right, left
    size = right.numel()
    made = F.conv1d(left.reshape(1, 1, -1), right.reshape(1, 1, -1), padding=size - 1).reshape(-1)
    made = made.flip(0) if swapped else made
    if mode == "same":
        made = made.narrow(0, size // 2 if swapped else (size - 1) // 2, left.numel())
    elif mode == "valid":
        made = made.narrow(0, size - 1, left.numel() - size + 1)
    return made.to(kind)


@op("numpy", dtype=UNCHECKED)
def correlate(a: Any, v: Any, mode: str = "valid") -> Tensor:
    """The sums of products of two vectors, the second moved along the first."""
    return _sliding(a, v, mode)


@op("numpy", dtype=UNCHECKED)
def convolve(a: Any, v: Any, mode: str = "full") -> Tensor:
    """The sums of products of two vectors, the second reversed and moved along the first."""
    left, right = to_array(a).reshape(-1), to_array(v).reshape(-1)
    if right.numel() > left.numel():
        left, right = right, left
    kind = torch.promote_types(left.dtype, right.dtype)
    size = right.numel()
    made = _sliding(left.to(kind), right.to(kind).flip(0), "full")
    if mode == "same":
        return made.narrow(0, (size - 1) // 2, left.numel())
    if mode == "valid":
        return made.narrow(0, size - 1, left.numel() - size + 1)
    if mode != "full":
        raise ArgumentValueError(f"the 'mode' must be 'full', 'same' or 'valid', but got {mode!r}.")
    return made


@op("numpy", dtype=UNCHECKED)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """The vector at right angles to two others, which have two or three elements."""
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
    made = torch.linalg.cross(*torch.broadcast_tensors(left, right), dim=-1)
    return made[..., 2] if lengths == (2, 2) else made.movedim(-1, axisc)


@op("numpy", dtype=UNCHECKED)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Tensor:
    """Values on the straight lines between points; beyond them the first and last, or `left` and `right`."""
    values, places, heights = (to_floating(to_array(each)) for each in (x, xp, fp))
    if places.ndim != 1 or places.shape != heights.shape:
        raise ArgumentValueError(f"xp and fp must be vectors of one length: {places.shape}, {heights.shape}.")
    values = values.to(places.device).contiguous()  # a number is made on the host
    after = torch.searchsorted(places.contiguous(), values).clamp(1, max(places.numel() - 1, 1))
    after = after.clamp(max=places.numel() - 1)
    before = (after - 1).clamp(min=0)
    gap = places[after] - places[before]
    part = torch.where(gap == 0, 0.0, (values - places[before]) / torch.where(gap == 0, 1.0, gap))
    made = heights[before] + (heights[after] - heights[before]) * part.clamp(0, 1)
    if left is not None:
        made = torch.where(values < places[0], to_array(left).to(made.dtype), made)
    if right is not None:
        made = torch.where(values > places[-1], to_array(right).to(made.dtype), made)
    return made


@op("numpy", dtype=UNCHECKED)
def trapz(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Tensor:
    """The area under a curve, made of trapezoids."""
    heights = to_floating(to_array(y))
    if x is not None:
        return torch.trapezoid(heights, to_floating(to_array(x)), dim=axis)
    return torch.trapezoid(heights, dx=dx, dim=axis)


@op("numpy:unwrap", dtype=UNCHECKED)
def unwrap_angles(p: Any, discont: float = math.pi, axis: int = -1) -> Tensor:
    """Angles along an axis without jumps of more than half a turn."""
    made = to_floating(to_array(p))
    step = torch.diff(made, dim=axis)
    turn = torch.remainder(step + math.pi, 2 * math.pi) - math.pi
    turn = torch.where((turn == -math.pi) & (step > 0), math.pi, turn)
    mend = torch.where(torch.abs(step) < discont, 0.0, turn - step)
    start = torch.zeros_like(made.narrow(axis, 0, 1))
    return made + torch.cat((start, torch.cumsum(mend, axis)), axis)


@op("numpy", dtype=UNCHECKED)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The slopes along axes, from both neighbours, and from one at the ends; `varargs` are the distances."""
    made = to_floating(to_array(f))
    over = as_axes(axis, made.ndim)
    if edge_order != 1:
        raise ArgumentValueError(f"For 'gradient', 'edge_order' must be 1, but got {edge_order}.")
    gaps = list(varargs) or [1.0]
    gaps = gaps * len(over) if len(gaps) == 1 else gaps
    if len(gaps) != len(over):
        raise ArgumentTypeError(f"For 'gradient', there are {len(gaps)} distances for {len(over)} axes.")
    found = []
    for along, gap in zip(over, gaps):
        length = made.shape[along]
        if length < 2:
            raise ArgumentValueError("Shape of array too small to calculate a numerical gradient.")
        first = made.narrow(along, 1, 1) - made.narrow(along, 0, 1)
        last = made.narrow(along, length - 1, 1) - made.narrow(along, length - 2, 1)
        middle = (made.narrow(along, 2, length - 2) - made.narrow(along, 0, length - 2)) / 2
        found.append(torch.cat((first, middle, last), along) / gap)
    return found[0] if len(found) == 1 else found


@op("numpy", dtype=UNCHECKED)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Tensor:
    """The differences of neighbours in flat order, with values before and after."""
    made = torch.diff(to_array(ary).reshape(-1))
    parts = [to_begin, made, to_end]
    return torch.cat([to_array(each).reshape(-1).to(made.dtype) for each in parts if each is not None])

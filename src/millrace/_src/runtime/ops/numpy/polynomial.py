"""Curves, polynomials, statistics of several vectors, with NumPy's names."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import normalize_axes as as_axes
from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op, public
from millrace._src.runtime.tensor.storage import unwrap, wrap

from .type_promotion import cast_result, promote_arrays, to_array, to_floating

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "bincount",
    "convolve",
    "corrcoef",
    "correlate",
    "cov",
    "cross",
    "ediff1d",
    "gradient",
    "interp",
    "piecewise",
    "polyadd",
    "polyder",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "trapz",
    "unwrap_angles",
]


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


def _rows(m: Any, y: Any, rowvar: bool) -> Tensor:
    """One variable in each row."""
    made = torch.atleast_2d(to_floating(to_array(m)))
    if not rowvar and made.shape[0] != 1:
        made = made.T
    if y is None:
        return made
    more = torch.atleast_2d(to_floating(to_array(y)))
    return torch.cat((made, more.T if not rowvar and more.shape[0] != 1 else more))


@op("numpy", dtype=UNCHECKED)
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Tensor:
    """The covariances of variables, one in each row."""
    made = cast_result(_rows(m, y, rowvar), dtype)
    counts = None if fweights is None else to_array(fweights).to(torch.int64)
    weights = None if aweights is None else to_floating(to_array(aweights))
    lost = (0 if bias else 1) if ddof is None else to_int(ddof, "ddof")
    return torch.cov(made, correction=lost, fweights=counts, aweights=weights)


@op("numpy", dtype=UNCHECKED)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Tensor:
    """The correlations of variables, one in each row."""
    return torch.corrcoef(cast_result(_rows(x, y, rowvar), dtype))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """How often each whole number from 0 on comes, or the sum of its weights, in float32."""
    made = to_array(x)
    if made.ndim != 1 or made.is_floating_point():
        raise ArgumentTypeError("For 'bincount', the input must be a vector of whole numbers.")
    counted = torch.bincount(
        made.to(torch.int64),
        None if weights is None else to_array(weights),
        0 if length is not None else minlength,
    ).to(torch.float32)
    if length is None:
        return counted
    return F.pad(counted[:length], (0, max(length - counted.numel(), 0)))


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


def _same_length(a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    """Two polynomials with the same number of coefficients, zeros in front of the shorter."""
    left, right = torch.atleast_1d(to_array(a1)), torch.atleast_1d(to_array(a2))
    size = max(left.numel(), right.numel())
    return F.pad(left, (size - left.numel(), 0)), F.pad(right, (size - right.numel(), 0))


@op("numpy", dtype=UNCHECKED)
def polyadd(a1: Any, a2: Any) -> Tensor:
    """The sum of two polynomials; coefficients of the highest power come first."""
    return torch.add(*_same_length(a1, a2))


@op("numpy", dtype=UNCHECKED)
def polysub(a1: Any, a2: Any) -> Tensor:
    """The difference of two polynomials."""
    return torch.sub(*_same_length(a1, a2))


@op("numpy", dtype=UNCHECKED)
def polymul(a1: Any, a2: Any) -> Tensor:
    """The product of two polynomials."""
    return convolve.raw(torch.atleast_1d(to_array(a1)), torch.atleast_1d(to_array(a2)))


@op("numpy", dtype=UNCHECKED)
def polyval(p: Any, x: Any) -> Tensor:
    """The value of a polynomial at each element."""
    factors, values = to_array(p), to_floating(to_array(x))
    powers = torch.arange(factors.numel() - 1, -1, -1, device=values.device)
    return torch.sum(torch.pow(values.unsqueeze(-1), powers) * factors, -1)


@op("numpy", dtype=UNCHECKED)
def polyder(p: Any, m: int = 1) -> Tensor:
    """The derivative of a polynomial, `m` times."""
    factors = to_array(p)
    if to_int(m, "m") < 0:
        raise ArgumentValueError(f"Order of derivative must be positive, but got {m}.")
    for _ in range(m):
        powers = torch.arange(factors.numel() - 1, 0, -1, device=factors.device).to(factors.dtype)
        factors = factors[:-1] * powers
    return factors


@op("numpy", dtype=UNCHECKED)
def polyint(p: Any, m: int = 1, k: Any = None) -> Tensor:
    """The integral of a polynomial, `m` times, with the constants `k`."""
    factors = to_floating(to_array(p))
    if to_int(m, "m") < 0:
        raise ArgumentValueError(f"Order of integral must be positive, but got {m}.")
    constants = factors.new_zeros(m) if k is None else torch.atleast_1d(to_floating(to_array(k))).expand(m)
    for time in range(m):
        powers = torch.arange(factors.numel(), 0, -1, device=factors.device).to(factors.dtype)
        factors = torch.cat((factors / powers, constants[time : time + 1].to(factors.dtype)))
    return factors


@public("numpy")
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors, called for each line along an axis."""
    made = to_array(unwrap(arr))
    if not -made.ndim <= axis < made.ndim:
        raise ArgumentValueError(f"axis {axis} is out of bounds for a tensor of {made.ndim} axes.")
    lines = made.movedim(axis, -1)
    found = [
        to_array(unwrap(func1d(wrap(line), *args, **kwargs))) for line in lines.reshape(-1, lines.shape[-1])
    ]
    results = torch.stack(found).reshape((*lines.shape[:-1], *found[0].shape))
    for place in range(found[0].ndim):
        results = results.movedim(lines.ndim - 1 + place, axis % made.ndim + place)
    return wrap(results)


@public("numpy")
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """A function called with a tensor and one axis after the other; it may drop the axis or keep it."""
    made = wrap(to_array(unwrap(a)))
    for axis in (axes,) if isinstance(axes, int) else axes:
        found = func(made, axis)
        made = found if found.ndim == made.ndim else wrap(found._torch.unsqueeze(axis))
    return made


@public("numpy")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """For each element the function, or number, whose condition holds; one more of them is for the rest."""
    values = to_array(unwrap(x))
    conditions = [
        to_array(unwrap(each)).bool()
        for each in (condlist if isinstance(condlist, (list, tuple)) else [condlist])
    ]
    if len(funclist) not in (len(conditions), len(conditions) + 1):
        raise ArgumentValueError(
            f"with {len(conditions)} conditions there must be as many functions, or one more."
        )
    if len(funclist) == len(conditions) + 1:
        conditions.append(~torch.stack(conditions).any(0))
    made = None
    for condition, each in zip(conditions, funclist):
        found = to_array(unwrap(each(wrap(values), *args, **kw) if callable(each) else each))
        made = torch.zeros(values.shape, dtype=found.dtype) if made is None else made
        made = torch.where(condition, *promote_arrays(found, made))
    return wrap(values if made is None else made)

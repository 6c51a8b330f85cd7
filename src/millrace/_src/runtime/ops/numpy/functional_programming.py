"""NumPy functional programming: apply_along_axis, piecewise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.ops.numpy.type_promotion import promote_arrays, to_array
from millrace._src.runtime.tensor.storage import unwrap, wrap

__all__ = ["apply_along_axis", "apply_over_axes", "piecewise"]


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

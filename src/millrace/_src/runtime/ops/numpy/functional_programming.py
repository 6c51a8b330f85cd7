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
    """Apply a function of vectors to each line along an axis."""
    tensor = to_array(unwrap(arr))
    if not -tensor.ndim <= axis < tensor.ndim:
        raise ArgumentValueError(f"axis {axis} is out of bounds for a tensor of {tensor.ndim} axes.")
    lines = tensor.movedim(axis, -1)
    slices = [
        to_array(unwrap(func1d(wrap(line), *args, **kwargs))) for line in lines.reshape(-1, lines.shape[-1])
    ]
    results = torch.stack(slices).reshape((*lines.shape[:-1], *slices[0].shape))
    for index in range(slices[0].ndim):
        results = results.movedim(lines.ndim - 1 + index, axis % tensor.ndim + index)
    return wrap(results)


@public("numpy")
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """Apply a function repeatedly over several axes; it may drop the axis or keep it."""
    tensor = wrap(to_array(unwrap(a)))
    for axis in (axes,) if isinstance(axes, int) else axes:
        reduced = func(tensor, axis)
        tensor = reduced if reduced.ndim == tensor.ndim else wrap(reduced._torch.unsqueeze(axis))
    return tensor


@public("numpy")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Piecewise function: for each element the function, or number, whose condition is true; an additional one is the
    default.
    """
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
    output = None
    for condition, each in zip(conditions, funclist):
        branch = to_array(unwrap(each(wrap(values), *args, **kw) if callable(each) else each))
        output = torch.zeros(values.shape, dtype=branch.dtype) if output is None else output
        output = torch.where(condition, *promote_arrays(branch, output))
    return wrap(values if output is None else output)

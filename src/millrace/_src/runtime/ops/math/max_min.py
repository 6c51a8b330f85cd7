"""Maximum and minimum along axes, with indices: max, min, argmax, amax."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.arguments import normalize_axes, promote_operands
from millrace._src.runtime.ops.declare.dtype_rules import INT32, INT64, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "ArgMaxWithValue",
    "ArgMinWithValue",
    "Argmax",
    "Argmin",
    "ReduceMax",
    "ReduceMin",
    "amax",
    "amax_mint",
    "amin",
    "amin_mint",
    "argmax",
    "argmax_primitive",
    "argmax_value",
    "argmax_with_value",
    "argmin",
    "argmin_mint",
    "argmin_primitive",
    "argmin_value",
    "argmin_with_value",
    "max",
    "reduce_max_primitive",
    "max_mint",
    "min",
    "reduce_min_primitive",
    "min_mint",
    "reduce_max",
    "reduce_min",
]

_DIM = {"axis": "dim", "keepdims": "keepdim", "keep_dims": "keepdim"}


def _apply_where(input: Tensor, initial: Any, where: Any, name: str) -> Tensor:
    """Set elements where `where` is false to `initial`."""
    if where is None:
        return input
    if initial is None:
        raise ArgumentValueError(f"For {name}, 'where' goes together with 'initial'.")
    return torch.where(torch.as_tensor(where, device=input.device).bool(), *promote_operands(input, initial))


def _max_min_with_index(
    input: Tensor, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool
) -> Any:
    """Extreme value and its index along one axis. Over all elements MindSpore gives index 0."""
    name = "max" if largest else "min"
    input = _apply_where(input, initial, where, name)
    if axis is None:
        values = torch.max(input) if largest else torch.min(input)
        indices = torch.zeros((), dtype=torch.int64, device=input.device)
    else:
        values, indices = torch.max(input, axis, keepdims) if largest else torch.min(input, axis, keepdims)
    if initial is not None:
        limit = torch.as_tensor(initial, dtype=values.dtype, device=values.device)
        values = torch.maximum(values, limit) if largest else torch.minimum(values, limit)
    return values, indices


@op("ops", dtype=UNCHECKED)
def max(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Maximum along an axis, and its indices."""
    return _max_min_with_index(input, axis, keepdims, initial, where, largest=True)


@op("ops", dtype=UNCHECKED)
def min(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """Minimum along an axis, and its indices."""
    return _max_min_with_index(input, axis, keepdims, initial, where, largest=False)


def _max_min_overloads(
    input: Tensor, operand: Any, keepdim: bool, axis: Any, rest: dict[str, Any], largest: bool
) -> Any:
    """Overloads of mint.max and Tensor.max: of all elements, along `dim` with indices, with another tensor, or NumPy's
    signature with `axis`.
    """
    if isinstance(operand, Tensor):
        return torch.maximum(input, operand) if largest else torch.minimum(input, operand)
    if operand is not None:
        return torch.max(input, operand, keepdim) if largest else torch.min(input, operand, keepdim)
    return_indices = rest.get("return_indices", False)
    result = _max_min_with_index(
        input, axis, rest.get("keepdims", keepdim), rest.get("initial"), rest.get("where"), largest
    )
    return result if return_indices and axis is not None else result[0]


@op("mint:max", "Tensor:max", dtype=UNCHECKED)
def max_mint(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: int | None = None, **rest: Any
) -> Any:
    """Maximum of all elements; along `dim` with indices; with another tensor, the elementwise maximum. `axis` is the
    older spelling and gives no indices unless `return_indices` is set.
    """
    return _max_min_overloads(input, dim, keepdim, axis, rest, largest=True)


@op("mint:min", "Tensor:min", dtype=UNCHECKED)
def min_mint(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: int | None = None, **rest: Any
) -> Any:
    """Minimum of all elements; along `dim` with indices; with another tensor, the elementwise minimum. `axis` is the
    older spelling and gives no indices unless `return_indices` is set.
    """
    return _max_min_overloads(input, dim, keepdim, axis, rest, largest=False)


@op("ops", "mint", "Tensor", dtype=INT64, differentiable=False, also=_DIM)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the maximum along an axis, or of the flattened tensor."""
    return torch.argmax(input, dim, keepdim)


@op("ops", "Tensor", dtype=INT32, differentiable=False, also={"dim": "axis", "keepdim": "keepdims"})
def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Index of the minimum along an axis, or of the flattened tensor."""
    return torch.argmin(input, axis, keepdims)


@op("mint:argmin", dtype=INT64, differentiable=False)
def argmin_mint(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the minimum along an axis, or of the flattened tensor."""
    return torch.argmin(input, dim, keepdim)


@op("ops", "Tensor", dtype=SAME)
def amax(
    input: Tensor, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Tensor:
    """Maximum along axes."""
    maxima = torch.amax(
        _apply_where(input, initial, where, "amax"), normalize_axes(axis, input.ndim), keepdims
    )
    return maxima if initial is None else torch.maximum(*promote_operands(maxima, initial))


@op("ops", "Tensor", dtype=SAME)
def amin(
    input: Tensor, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Tensor:
    """Minimum along axes."""
    minima = torch.amin(
        _apply_where(input, initial, where, "amin"), normalize_axes(axis, input.ndim), keepdims
    )
    return minima if initial is None else torch.minimum(*promote_operands(minima, initial))


@op("mint:amax", dtype=SAME)
def amax_mint(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Maximum along axes."""
    return torch.amax(input, normalize_axes(dim, input.ndim), keepdim)


@op("mint:amin", dtype=SAME)
def amin_mint(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """Minimum along axes."""
    return torch.amin(input, normalize_axes(dim, input.ndim), keepdim)


@op("Tensor", dtype=UNCHECKED)
def argmax_with_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """Maximum along an axis, and its indices."""
    return torch.max(x, axis, keep_dims)


@op("Tensor", dtype=UNCHECKED)
def argmin_with_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """Minimum along an axis, and its indices."""
    return torch.min(x, axis, keep_dims)


# --- primitives ------------------------------------------------------------------------------------------------


@op(dtype=SAME)
def reduce_max_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Maximum along axes."""
    return torch.amax(x, normalize_axes(axis, x.ndim), keep_dims)


@op(dtype=SAME)
def reduce_min_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Minimum along axes."""
    return torch.amin(x, normalize_axes(axis, x.ndim), keep_dims)


@op(dtype=UNCHECKED, differentiable=False)
def argmax_primitive(x: Tensor, axis: int = -1, output_type: Any = torch.int32) -> Tensor:
    """Index of the maximum along an axis."""
    return torch.argmax(x, axis).to(output_type)


@op(dtype=UNCHECKED, differentiable=False)
def argmin_primitive(x: Tensor, axis: int = -1, output_type: Any = torch.int32) -> Tensor:
    """Index of the minimum along an axis."""
    return torch.argmin(x, axis).to(output_type)


@op(dtype=UNCHECKED)
def argmax_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """Indices of the maximum along an axis, and the maximum."""
    values, indices = torch.max(x, axis, keep_dims)
    return indices, values


@op(dtype=UNCHECKED)
def argmin_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """Indices of the minimum along an axis, and the minimum."""
    values, indices = torch.min(x, axis, keep_dims)
    return indices, values


ReduceMax = primitive("ReduceMax", reduce_max_primitive, init=("keep_dims",))
ReduceMin = primitive("ReduceMin", reduce_min_primitive, init=("keep_dims",))
Argmax = primitive("Argmax", argmax_primitive)
Argmin = primitive("Argmin", argmin_primitive)
ArgMaxWithValue = primitive("ArgMaxWithValue", argmax_value)
ArgMinWithValue = primitive("ArgMinWithValue", argmin_value)

# MindSpore's names for instances of these classes.
reduce_max = ReduceMax()
reduce_min = ReduceMin()
export_names(__name__, "ops", "reduce_max", "reduce_min")

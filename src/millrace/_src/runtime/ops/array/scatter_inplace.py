"""Scatter updates into a Parameter in place: scatter_add, scatter_nd_add, index_add. The storage stays."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.public import export_names
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.index_arguments import (
    check_integer_indices,
    normalize_axis,
    normalize_indices,
)
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .scatter import scatter_nd_with

__all__ = [
    "IndexAdd",
    "InplaceAdd",
    "InplaceIndexAdd",
    "InplaceSub",
    "InplaceUpdate",
    "InplaceUpdateV2",
    "ScatterAdd",
    "ScatterDiv",
    "ScatterMax",
    "ScatterMin",
    "ScatterMul",
    "ScatterNdAdd",
    "ScatterNdDiv",
    "ScatterNdMax",
    "ScatterNdMin",
    "ScatterNdMul",
    "ScatterNdSub",
    "ScatterNdUpdate",
    "ScatterNonAliasingAdd",
    "ScatterSub",
    "ScatterUpdate",
    "index_add",
    "index_add_",
    "index_add_copy",
    "inplace_add",
    "inplace_index_add",
    "inplace_sub",
    "inplace_update",
    "inplace_update_method",
    "inplace_update_v2",
    "scatter_add",
    "scatter_div",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_nd_add",
    "scatter_nd_div",
    "scatter_nd_max",
    "scatter_nd_min",
    "scatter_nd_mul",
    "scatter_nd_sub",
    "scatter_nd_update",
    "scatter_nd_update_primitive",
    "scatter_sub",
    "scatter_update",
]


def _update_rows(name: str, how: str, input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Update whole rows in place."""
    return scatter_nd_with(
        name, how, input, check_integer_indices(name, indices).unsqueeze(-1), updates, True
    )


@op("ops", dtype=SAME, differentiable=False)
def scatter_add(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Add updates to rows in place."""
    return _update_rows("ScatterAdd", "add", input_x, indices, updates)


@op(dtype=SAME, differentiable=False)
def scatter_sub(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Subtract updates from rows in place."""
    return _update_rows("ScatterSub", "sub", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_mul(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Multiply rows by updates in place."""
    return _update_rows("ScatterMul", "mul", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_div(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Divide rows by updates in place."""
    return _update_rows("ScatterDiv", "div", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_max(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Take the elementwise maximum of rows and updates in place."""
    return _update_rows("ScatterMax", "max", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_min(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Take the elementwise minimum of rows and updates in place."""
    return _update_rows("ScatterMin", "min", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_update(input_x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """Replace rows by updates in place."""
    return _update_rows("ScatterUpdate", "update", input_x, indices, updates)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_add(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Add updates in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdAdd", "add", input_x, indices, updates, True)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_sub(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Subtract updates in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdSub", "sub", input_x, indices, updates, True)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_mul(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Multiply by updates in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdMul", "mul", input_x, indices, updates, True)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_div(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Divide by updates in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdDiv", "div", input_x, indices, updates, True)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_max(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Take the maximum of element and update in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdMax", "max", input_x, indices, updates, True)


@op("ops", dtype=SAME, differentiable=False)
def scatter_nd_min(input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False) -> Tensor:
    """Take the minimum of element and update in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdMin", "min", input_x, indices, updates, True)


@op(dtype=SAME, differentiable=False)
def scatter_nd_update_primitive(
    input_x: Tensor, indices: Tensor, updates: Tensor, use_locking: bool = False
) -> Tensor:
    """Write updates in place at the coordinates in the last axis of the indices."""
    return scatter_nd_with("ScatterNdUpdate", "update", input_x, indices, updates, True)


ScatterAdd = primitive("ScatterAdd", scatter_add, unused={"use_locking": False})
ScatterSub = primitive("ScatterSub", scatter_sub, unused={"use_locking": False})
ScatterMul = primitive("ScatterMul", scatter_mul, unused={"use_locking": False})
ScatterDiv = primitive("ScatterDiv", scatter_div, unused={"use_locking": False})
ScatterMax = primitive("ScatterMax", scatter_max, unused={"use_locking": False})
ScatterMin = primitive("ScatterMin", scatter_min, unused={"use_locking": False})
ScatterUpdate = primitive("ScatterUpdate", scatter_update, unused={"use_locking": True})
ScatterNdAdd = primitive("ScatterNdAdd", scatter_nd_add, init=("use_locking",))
ScatterNdSub = primitive("ScatterNdSub", scatter_nd_sub, init=("use_locking",))
ScatterNdMul = primitive("ScatterNdMul", scatter_nd_mul, init=("use_locking",))
ScatterNdDiv = primitive("ScatterNdDiv", scatter_nd_div, init=("use_locking",))
ScatterNdMax = primitive("ScatterNdMax", scatter_nd_max, init=("use_locking",))
ScatterNdMin = primitive("ScatterNdMin", scatter_nd_min, init=("use_locking",))
ScatterNdUpdate = primitive(
    "ScatterNdUpdate", scatter_nd_update_primitive, init=("use_locking",), use_locking=True
)
ScatterNonAliasingAdd = primitive(
    "ScatterNonAliasingAdd", scatter_nd_add, init=(), call=("input_x", "indices", "updates")
)
scatter_nd_update = ScatterNdUpdate()
export_names(__name__, "ops", "scatter_nd_update")


# --- along an axis ----------------------------------------------------------------------------------------------


def _index_add(name: str, input: Tensor, axis: Any, index: Tensor, source: Tensor, alpha: Any = 1) -> Tensor:
    at = normalize_axis(name, axis, input.ndim)
    with torch.no_grad():
        return input.index_add_(at, normalize_indices(name, index, input.shape[at]), source, alpha=alpha)


@op("ops", dtype=SAME, differentiable=False)
def index_add(
    x: Tensor, indices: Tensor, y: Tensor, axis: int, use_lock: bool = True, check_index_bound: bool = True
) -> Tensor:
    """Add slices to an axis at the given indices, in place."""
    return _index_add("index_add", x, axis, indices, y)


IndexAdd = primitive("IndexAdd", index_add, init=("axis", "use_lock", "check_index_bound"))


@op("ops", dtype=SAME, differentiable=False)
def inplace_index_add(var: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Add slices to an axis at the given indices, in place."""
    return _index_add("inplace_index_add", var, axis, indices, updates)


InplaceIndexAdd = primitive("InplaceIndexAdd", inplace_index_add)


@op("mint:index_add", "Tensor:index_add", dtype=SAME, also={"y": "source", "axis": "dim", "indices": "index"})
def index_add_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Copy of the tensor with slices of an axis added at the given indices."""
    at = normalize_axis("index_add", dim, input.ndim)
    return torch.index_add(
        input, at, normalize_indices("index_add", index, input.shape[at]), source, alpha=alpha
    )


@op("Tensor", dtype=SAME, differentiable=False)
def index_add_(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add slices to an axis at the given indices, in place."""
    return _index_add("index_add_", input, dim, index, source, alpha)


# --- copies with updated rows -------------------------------------------------------------------------------------


def _parse_row_indices(indices: Any, input: Tensor) -> tuple[Tensor]:
    return (torch.as_tensor(indices, device=input.device).reshape(-1).long(),)


@op("ops", dtype=SAME)
def inplace_update(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """Copy of the tensor with rows replaced."""
    return x.index_put(_parse_row_indices(indices, x), v)


@op("ops", dtype=SAME)
def inplace_add(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """Copy of the tensor with values added to rows."""
    return x.index_put(_parse_row_indices(indices, x), v, accumulate=True)


@op("ops", dtype=SAME)
def inplace_sub(x: Tensor, v: Tensor, indices: Any) -> Tensor:
    """Copy of the tensor with values subtracted from rows."""
    return x.index_put(_parse_row_indices(indices, x), -v, accumulate=True)


@op("Tensor:inplace_update", dtype=SAME)
def inplace_update_method(input: Tensor, v: Tensor, indices: Any) -> Tensor:
    """Copy of the tensor with rows replaced."""
    return inplace_update.raw(input, v, indices)


@op(dtype=SAME)
def inplace_update_v2(x: Tensor, indices: Any, v: Tensor) -> Tensor:
    """Copy of the tensor with rows replaced."""
    return inplace_update.raw(x, v, indices)


InplaceUpdate = primitive("InplaceUpdate", inplace_update, init=("indices",))
InplaceAdd = primitive("InplaceAdd", inplace_add, init=("indices",))
InplaceSub = primitive("InplaceSub", inplace_sub, init=("indices",))
InplaceUpdateV2 = primitive("InplaceUpdateV2", inplace_update_v2, init=())

"""The largest and smallest elements, and where they are."""

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


def _masked(input: Tensor, initial: Any, where: Any, name: str) -> Tensor:
    """Elements that `where` leaves out take the value `initial`."""
    if where is None:
        return input
    if initial is None:
        raise ArgumentValueError(f"For {name}, 'where' goes together with 'initial'.")
    return torch.where(torch.as_tensor(where, device=input.device).bool(), *promote_operands(input, initial))


def _max_min_with_index(
    input: Tensor, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool
) -> Any:
    """The extreme with its place along one axis; over all elements MindSpore gives 0 as the place."""
    name = "max" if largest else "min"
    input = _masked(input, initial, where, name)
    if axis is None:
        made = torch.max(input) if largest else torch.min(input)
        place = torch.zeros((), dtype=torch.int64, device=input.device)
    else:
        made, place = torch.max(input, axis, keepdims) if largest else torch.min(input, axis, keepdims)
    if initial is not None:
        limit = torch.as_tensor(initial, dtype=made.dtype, device=made.device)
        made = torch.maximum(made, limit) if largest else torch.minimum(made, limit)
    return made, place


@op("ops", dtype=UNCHECKED)
def max(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """The largest elements along an axis, and their places."""
    return _max_min_with_index(input, axis, keepdims, initial, where, largest=True)


@op("ops", dtype=UNCHECKED)
def min(
    input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Any:
    """The smallest elements along an axis, and their places."""
    return _max_min_with_index(input, axis, keepdims, initial, where, largest=False)


def _max_min_overloads(
    input: Tensor, given: Any, keepdim: bool, axis: Any, rest: dict[str, Any], largest: bool
) -> Any:
    """mint.max and Tensor.max: over all, along `dim` with places, with another tensor, or NumPy's way by `axis`."""
    if isinstance(given, Tensor):
        return torch.maximum(input, given) if largest else torch.minimum(input, given)
    if given is not None:
        return torch.max(input, given, keepdim) if largest else torch.min(input, given, keepdim)
    with_places = rest.get("return_indices", False)
    made = _max_min_with_index(
        input, axis, rest.get("keepdims", keepdim), rest.get("initial"), rest.get("where"), largest
    )
    return made if with_places and axis is not None else made[0]


@op("mint:max", "Tensor:max", dtype=UNCHECKED)
def max_mint(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: int | None = None, **rest: Any
) -> Any:
    """The largest element; along `dim` with its place; with another tensor, the larger of each pair. `axis` is the
    older spelling, which gives no places unless `return_indices` asks for them."""
    return _max_min_overloads(input, dim, keepdim, axis, rest, largest=True)


@op("mint:min", "Tensor:min", dtype=UNCHECKED)
def min_mint(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: int | None = None, **rest: Any
) -> Any:
    """The smallest element; along `dim` with its place; with another tensor, the smaller of each pair. `axis` is the
    older spelling, which gives no places unless `return_indices` asks for them."""
    return _max_min_overloads(input, dim, keepdim, axis, rest, largest=False)


@op("ops", "mint", "Tensor", dtype=INT64, differentiable=False, also=_DIM)
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The place of the largest element along an axis, or among all."""
    return torch.argmax(input, dim, keepdim)


@op("ops", "Tensor", dtype=INT32, differentiable=False, also={"dim": "axis", "keepdim": "keepdims"})
def argmin(input: Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """The place of the smallest element along an axis, or among all."""
    return torch.argmin(input, axis, keepdims)


@op("mint:argmin", dtype=INT64, differentiable=False)
def argmin_mint(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The place of the smallest element along an axis, or among all."""
    return torch.argmin(input, dim, keepdim)


@op("ops", "Tensor", dtype=SAME)
def amax(
    input: Tensor, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Tensor:
    """The largest element along axes."""
    made = torch.amax(_masked(input, initial, where, "amax"), normalize_axes(axis, input.ndim), keepdims)
    return made if initial is None else torch.maximum(*promote_operands(made, initial))


@op("ops", "Tensor", dtype=SAME)
def amin(
    input: Tensor, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Tensor:
    """The smallest element along axes."""
    made = torch.amin(_masked(input, initial, where, "amin"), normalize_axes(axis, input.ndim), keepdims)
    return made if initial is None else torch.minimum(*promote_operands(made, initial))


@op("mint:amax", dtype=SAME)
def amax_mint(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest element along axes."""
    return torch.amax(input, normalize_axes(dim, input.ndim), keepdim)


@op("mint:amin", dtype=SAME)
def amin_mint(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest element along axes."""
    return torch.amin(input, normalize_axes(dim, input.ndim), keepdim)


@op("Tensor", dtype=UNCHECKED)
def argmax_with_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """The largest elements along an axis, and their places."""
    return torch.max(x, axis, keep_dims)


@op("Tensor", dtype=UNCHECKED)
def argmin_with_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """The smallest elements along an axis, and their places."""
    return torch.min(x, axis, keep_dims)


# --- the classes: options first, tensors and axes in the call ---------------------------------------------------


@op(dtype=SAME)
def reduce_max_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """The largest element along axes."""
    return torch.amax(x, normalize_axes(axis, x.ndim), keep_dims)


@op(dtype=SAME)
def reduce_min_primitive(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """The smallest element along axes."""
    return torch.amin(x, normalize_axes(axis, x.ndim), keep_dims)


@op(dtype=UNCHECKED, differentiable=False)
def argmax_primitive(x: Tensor, axis: int = -1, output_type: Any = torch.int32) -> Tensor:
    """The place of the largest element along an axis."""
    return torch.argmax(x, axis).to(output_type)


@op(dtype=UNCHECKED, differentiable=False)
def argmin_primitive(x: Tensor, axis: int = -1, output_type: Any = torch.int32) -> Tensor:
    """The place of the smallest element along an axis."""
    return torch.argmin(x, axis).to(output_type)


@op(dtype=UNCHECKED)
def argmax_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """The places of the largest elements along an axis, and these."""
    made, place = torch.max(x, axis, keep_dims)
    return place, made


@op(dtype=UNCHECKED)
def argmin_value(x: Tensor, axis: int = 0, keep_dims: bool = False) -> Any:
    """The places of the smallest elements along an axis, and these."""
    made, place = torch.min(x, axis, keep_dims)
    return place, made


ReduceMax = primitive("ReduceMax", reduce_max_primitive, init=("keep_dims",))
ReduceMin = primitive("ReduceMin", reduce_min_primitive, init=("keep_dims",))
Argmax = primitive("Argmax", argmax_primitive)
Argmin = primitive("Argmin", argmin_primitive)
ArgMaxWithValue = primitive("ArgMaxWithValue", argmax_value)
ArgMinWithValue = primitive("ArgMinWithValue", argmin_value)

# MindSpore's names for ready-made objects of these classes.
reduce_max = ReduceMax()
reduce_min = ReduceMin()
export_names(__name__, "ops", "reduce_max", "reduce_min")

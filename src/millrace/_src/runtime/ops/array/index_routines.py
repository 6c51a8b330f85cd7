"""Index routines: nonzero, count_nonzero, unravel_index, list_diff, invert_permutation."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import normalize_axes, promote_operands, to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import INT32, INT64, INTEGERS, REAL, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "CountNonZero",
    "DataFormatDimMap",
    "DataFormatVecPermute",
    "InvertPermutation",
    "ListDiff",
    "MapUniform",
    "NonZero",
    "SubAndFilter",
    "UnravelIndex",
    "argwhere",
    "count_nonzero",
    "count_nonzero_along",
    "count_nonzero_method",
    "count_nonzero_mint",
    "format_axis",
    "format_vector",
    "invert_permutation",
    "list_diff",
    "map_uniform",
    "non_zero",
    "nonzero",
    "sub_and_filter",
    "unravel_index",
]


@op(accepts=REAL, dtype=UNCHECKED, differentiable=False)
def list_diff(x: Tensor, y: Tensor, out_idx: Any = torch.int32) -> tuple[Tensor, Tensor]:
    """Values of `x` that are not in `y`, and their indices in `x`."""
    if out_idx not in (torch.int32, torch.int64):
        raise ArgumentTypeError(f"For 'ListDiff', 'out_idx' must be int32 or int64, but got {out_idx}.")
    if x.ndim != 1 or y.ndim != 1:
        raise ArgumentValueError(
            f"For 'ListDiff', both lists must have one axis, but got {list(x.shape)} and {list(y.shape)}."
        )
    alone = ~torch.isin(x, y)
    return x[alone], alone.nonzero().squeeze(1).to(out_idx)


ListDiff = primitive("ListDiff", list_diff)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def unravel_index(indices: Tensor, dims: Tensor) -> Tensor:
    """Coordinates of flat indices in an array of the given shape: one column per index."""
    if dims.ndim != 1 or indices.ndim > 1:
        raise ArgumentValueError(
            f"For 'UnravelIndex', 'indices' must have at most one axis and 'dims' one, but got {list(indices.shape)} "
            f"and {list(dims.shape)}."
        )
    shape = to_python_list(dims)
    size = int(torch.prod(dims))
    if indices.numel() and not (int(indices.min()) >= 0 and int(indices.max()) < size):
        raise ArgumentValueError(
            f"For 'UnravelIndex', the numbers must be in [0, {size}), but got {indices.tolist()}."
        )
    return torch.stack(torch.unravel_index(indices.long(), shape)).to(indices.dtype)


UnravelIndex = primitive("UnravelIndex", unravel_index)


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def sub_and_filter(input_x: Tensor, max_num: Any, offset: Any) -> tuple[Tensor, Tensor]:
    """Values minus `offset` that lie in [0, max_num), and their indices."""
    _, shift = promote_operands(input_x, offset)
    _, most = promote_operands(input_x, max_num)
    moved = input_x - shift
    kept = (moved >= 0) & (moved < most)
    return moved[kept], kept.nonzero().squeeze(1).to(input_x.dtype)


SubAndFilter = primitive("SubAndFilter", sub_and_filter, ())


@op(accepts=INTEGERS, dtype=UNCHECKED, differentiable=False)
def map_uniform(input: Tensor, per_group_size: Any, group_num: Any) -> Tensor:
    """Map keys to groups in round-robin order: the remainder is the group, the quotient the index within the group."""
    _, size = promote_operands(input, per_group_size)
    _, count = promote_operands(input, group_num)
    return torch.remainder(input, count) * size + torch.div(input, count, rounding_mode="floor")


MapUniform = primitive("MapUniform", map_uniform, ())


@op("ops:nonzero", "mint", "Tensor", dtype=UNCHECKED, differentiable=False)
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """Coordinates of the nonzero elements, one row each; with `as_tuple`, one tensor per axis."""
    return torch.nonzero(input, as_tuple=True) if as_tuple else torch.nonzero(input)


@op("ops", "Tensor", dtype=INT64, differentiable=False)
def argwhere(input: Tensor) -> Tensor:
    """Coordinates of the nonzero elements, one row each."""
    return torch.argwhere(input)


@op(dtype=INT64, differentiable=False)
def non_zero(x: Tensor) -> Tensor:
    """Coordinates of the nonzero elements, one row each."""
    return torch.nonzero(x)


NonZero = primitive("NonZero", non_zero)


@op("ops", dtype=UNCHECKED, differentiable=False)
def count_nonzero(x: Tensor, axis: Any = (), keep_dims: bool = False, dtype: Any = torch.int32) -> Tensor:
    """Number of nonzero elements along axes."""
    return (
        torch.sum(x != 0, normalize_axes(axis, x.ndim), keep_dims).to(dtype) if x.ndim else (x != 0).to(dtype)
    )


@op("mint:count_nonzero", dtype=INT64, differentiable=False)
def count_nonzero_mint(input: Tensor, dim: Any = None) -> Tensor:
    """Number of nonzero elements along axes."""
    return torch.count_nonzero(input, dim)


@op("Tensor:count_nonzero", dtype=UNCHECKED, differentiable=False, also={"dim": "axis"})
def count_nonzero_method(input: Tensor, axis: Any = (), keep_dims: bool = False, dtype: Any = None) -> Tensor:
    """Number of nonzero elements along axes."""
    return count_nonzero.raw(input, axis, keep_dims, dtype or torch.int32)


@op(dtype=INT32, differentiable=False)
def count_nonzero_along(x: Tensor, dims: Any = None) -> Tensor:
    """Number of nonzero elements along axes."""
    return torch.sum(x != 0, normalize_axes(dims, x.ndim))


CountNonZero = primitive("CountNonZero", count_nonzero_along)


@op(dtype=UNCHECKED, differentiable=False)
def invert_permutation(input_x: Any) -> Any:
    """Inverse of a permutation."""
    if not isinstance(input_x, (tuple, list)) or sorted(input_x) != list(range(len(input_x))):
        raise ArgumentValueError(
            f"For 'InvertPermutation', the input must be a permutation of 0..n-1: {input_x!r}."
        )
    inverse = [0] * len(input_x)
    for position, value in enumerate(input_x):
        inverse[value] = position
    return tuple(inverse)


def _parse_format_order(src: str, dst: str, name: str) -> list[int]:
    for each in (src, dst):
        if each not in ("NHWC", "NCHW"):
            raise ArgumentValueError(f"For '{name}', a format must be 'NHWC' or 'NCHW', but got {each!r}.")
    return [src.index(letter) for letter in dst]


@op(dtype=SAME, differentiable=False)
def format_axis(input_x: Tensor, src_format: str = "NHWC", dst_format: str = "NCHW") -> Tensor:
    """Map axes of `src_format` to axes of `dst_format`; axes may be negative."""
    axis_map = torch.tensor(
        _parse_format_order(src_format, dst_format, "DataFormatDimMap"),
        dtype=input_x.dtype,
        device=input_x.device,
    )
    return axis_map[torch.remainder(input_x, 4).to(torch.int64)]


@op(dtype=SAME, differentiable=False)
def format_vector(input_x: Tensor, src_format: str = "NHWC", dst_format: str = "NCHW") -> Tensor:
    """Permute a vector with one number per axis (or a pair in each row) from `src_format` to `dst_format`."""
    order = _parse_format_order(src_format, dst_format, "DataFormatVecPermute")
    if input_x.ndim not in (1, 2) or input_x.shape[0] != 4:
        raise ArgumentValueError(
            f"For 'DataFormatVecPermute', the shape must be (4,) or (4, 2): {tuple(input_x.shape)}."
        )
    return input_x[torch.tensor(order, device=input_x.device)]


InvertPermutation = primitive("InvertPermutation", invert_permutation, init=())
DataFormatDimMap = primitive("DataFormatDimMap", format_axis, init=("src_format", "dst_format"))
DataFormatVecPermute = primitive("DataFormatVecPermute", format_vector, init=("src_format", "dst_format"))

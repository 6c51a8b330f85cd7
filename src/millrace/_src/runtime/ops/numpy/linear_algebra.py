"""NumPy linear algebra: dot, inner, outer, tensordot, kron, norm."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import normalize_axes
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.ops.numpy.type_promotion import cast_result, promote_arrays, to_array, to_floating

__all__ = ["dot", "inner", "kron", "multi_dot", "norm", "outer", "tensordot", "trace"]


def _same(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands in their common type, for products of matrices."""
    left, right = promote_arrays(a, b)
    kind = torch.promote_types(left.dtype, right.dtype)
    return left.to(kind), right.to(kind)


@op("numpy", dtype=UNCHECKED)
def dot(a: Any, b: Any) -> Tensor:
    """The sum of products over the last axis of the first and the last but one of the second."""
    left, right = _same(a, b)
    if not left.ndim or not right.ndim:
        return left * right
    return torch.tensordot(left, right, ([left.ndim - 1], [max(right.ndim - 2, 0)]))


@op("numpy", dtype=UNCHECKED)
def inner(a: Any, b: Any) -> Tensor:
    """The sum of products over the last axes."""
    left, right = _same(a, b)
    return left * right if not left.ndim or not right.ndim else torch.inner(left, right)


@op("numpy", dtype=UNCHECKED)
def outer(a: Any, b: Any) -> Tensor:
    """The product of each element of the first with each of the second."""
    left, right = _same(a, b)
    return torch.outer(left.reshape(-1), right.reshape(-1))


@op("numpy", dtype=UNCHECKED)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """The sum of products over axes: so many of the last and first, or those that are named."""
    left, right = _same(a, b)
    return torch.tensordot(left, right, axes)


@op("numpy", dtype=UNCHECKED)
def kron(a: Any, b: Any) -> Tensor:
    """The second tensor, scaled by each element of the first."""
    left, right = _same(a, b)
    return torch.kron(left.contiguous(), right.contiguous())


@op("numpy", dtype=UNCHECKED)
def multi_dot(arrays: Any) -> Tensor:
    """The product of several matrices, in the order that costs least."""
    return torch.linalg.multi_dot([to_array(each) for each in arrays])


@op("numpy", dtype=UNCHECKED)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """The sum of a diagonal of two axes."""
    made = cast_result(to_array(a), dtype)
    return torch.sum(torch.diagonal(made, offset, axis1, axis2), -1).to(made.dtype)


@op("numpy", dtype=UNCHECKED)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The length of vectors, or a norm of matrices."""
    made = to_floating(to_array(x))
    over = None if axis is None else normalize_axes(axis, made.ndim)
    if over is None and ord is None:
        flat = torch.linalg.vector_norm(made)
        return flat.reshape((1,) * made.ndim) if keepdims else flat
    if over is None:
        over = tuple(range(made.ndim))
    if len(over) == 1:
        return torch.linalg.vector_norm(made, 2 if ord is None else ord, over[0], keepdims)
    return torch.linalg.matrix_norm(made, "fro" if ord is None else ord, over, keepdims)

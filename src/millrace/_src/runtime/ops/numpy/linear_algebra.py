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


def _to_common_dtype(a: Any, b: Any) -> tuple[Tensor, Tensor]:
    """Two operands in their common dtype, for matrix products."""
    left, right = promote_arrays(a, b)
    common_dtype = torch.promote_types(left.dtype, right.dtype)
    return left.to(common_dtype), right.to(common_dtype)


@op("numpy", dtype=UNCHECKED)
def dot(a: Any, b: Any) -> Tensor:
    """Sum of products over the last axis of the first operand and the second-to-last axis of the second."""
    left, right = _to_common_dtype(a, b)
    if not left.ndim or not right.ndim:
        return left * right
    return torch.tensordot(left, right, ([left.ndim - 1], [max(right.ndim - 2, 0)]))


@op("numpy", dtype=UNCHECKED)
def inner(a: Any, b: Any) -> Tensor:
    """Inner product over the last axes."""
    left, right = _to_common_dtype(a, b)
    return left * right if not left.ndim or not right.ndim else torch.inner(left, right)


@op("numpy", dtype=UNCHECKED)
def outer(a: Any, b: Any) -> Tensor:
    """Outer product of the flattened operands."""
    left, right = _to_common_dtype(a, b)
    return torch.outer(left.reshape(-1), right.reshape(-1))


@op("numpy", dtype=UNCHECKED)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Tensor contraction over axes: a number of last and first axes, or the named ones."""
    left, right = _to_common_dtype(a, b)
    return torch.tensordot(left, right, axes)


@op("numpy", dtype=UNCHECKED)
def kron(a: Any, b: Any) -> Tensor:
    """Kronecker product."""
    left, right = _to_common_dtype(a, b)
    return torch.kron(left.contiguous(), right.contiguous())


@op("numpy", dtype=UNCHECKED)
def multi_dot(arrays: Any) -> Tensor:
    """Product of several matrices, in the cheapest order."""
    return torch.linalg.multi_dot([to_array(each) for each in arrays])


@op("numpy", dtype=UNCHECKED)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Sum of a diagonal of two axes."""
    matrices = cast_result(to_array(a), dtype)
    return torch.sum(torch.diagonal(matrices, offset, axis1, axis2), -1).to(matrices.dtype)


@op("numpy", dtype=UNCHECKED)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Vector norm or matrix norm."""
    tensor = to_floating(to_array(x))
    over = None if axis is None else normalize_axes(axis, tensor.ndim)
    if over is None and ord is None:
        flat = torch.linalg.vector_norm(tensor)
        return flat.reshape((1,) * tensor.ndim) if keepdims else flat
    if over is None:
        over = tuple(range(tensor.ndim))
    if len(over) == 1:
        return torch.linalg.vector_norm(tensor, 2 if ord is None else ord, over[0], keepdims)
    return torch.linalg.matrix_norm(tensor, "fro" if ord is None else ord, over, keepdims)

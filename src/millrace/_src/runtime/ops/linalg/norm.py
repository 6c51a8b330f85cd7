"""Norms and conditioning: vector_norm, matrix_norm, renorm, cond."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import check_axes, normalize_axes, to_python_list
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

from .decomposition import singular_values

__all__ = [
    "EuclideanNorm",
    "LpNorm",
    "NuclearNorm",
    "Renorm",
    "cond",
    "euclidean_norm",
    "l1_penalty",
    "l2_norm",
    "lp_norm",
    "matrix_norm",
    "matrix_norm_mint",
    "norm",
    "norm_mint",
    "nuclear_norm",
    "renorm",
    "renorm_first",
    "vector_norm",
    "vector_norm_mint",
]


def matrix_norm_impl(
    x: Tensor, order: Any, over: Any = (-2, -1), keepdim: bool = False, dtype: Any = None
) -> Tensor:
    """Matrix norm; norms by singular values have the same bits while a step is captured."""
    if order != "nuc" and order not in (2, -2):
        return torch.linalg.matrix_norm(x, order, over, keepdim, dtype=dtype)
    rows, columns = over
    values = singular_values(torch.movedim(x if dtype is None else x.to(dtype), (rows, columns), (-2, -1)))
    norms = values.sum(-1) if order == "nuc" else values.amax(-1) if order == 2 else values.amin(-1)
    if not keepdim:
        return norms
    first, last = sorted(axis % x.ndim for axis in over)
    return norms.unsqueeze(first).unsqueeze(last)


@op("ops", dtype=UNCHECKED)
def matrix_norm(
    A: Tensor, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of matrices along two axes."""
    return matrix_norm_impl(A, ord, axis, keepdims, dtype)


@op("mint.linalg:matrix_norm", dtype=UNCHECKED)
def matrix_norm_mint(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of matrices along two axes."""
    return matrix_norm_impl(A, ord, dim, keepdim, dtype)


@op("ops", dtype=UNCHECKED)
def vector_norm(
    x: Tensor, ord: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of vectors along axes; by default of all elements as one vector."""
    return torch.linalg.vector_norm(x, ord, axis, keepdims, dtype=dtype)


@op("mint.linalg:vector_norm", dtype=UNCHECKED)
def vector_norm_mint(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm of vectors along axes; by default of all elements as one vector."""
    return torch.linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype)


@op("mint:norm", dtype=UNCHECKED)
def norm_mint(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """Norm along axes; by default of all elements as one vector."""
    order = 2 if p in (None, "fro") else p
    if order == "nuc":
        return matrix_norm_impl(input, "nuc", (-2, -1) if dim is None else dim, keepdim, dtype)
    return torch.linalg.vector_norm(input, order, dim, keepdim, dtype=dtype)


@op("ops", dtype=UNCHECKED)
def cond(A: Tensor, p: Any = None) -> Tensor:
    """Condition number of a matrix: its norm times the norm of its inverse."""
    if p in (None, 2, -2):
        values = singular_values(A)
        low, high = values.amin(-1), values.amax(-1)
        return low / high if p == -2 else high / low
    return torch.linalg.matrix_norm(A, p) * torch.linalg.matrix_norm(torch.linalg.inv(A), p)


@op("ops", "Tensor", dtype=SAME)
def renorm(input: Tensor, p: int, axis: int, maxnorm: float) -> Tensor:
    """Scale slices of an axis whose norm is above `maxnorm` down to that norm."""
    return torch.renorm(input, p, axis, maxnorm)


@op(dtype=SAME)
def renorm_first(x: Tensor, p: int, dim: int, maxnorm: float) -> Tensor:
    """Scale slices of an axis whose norm is above `maxnorm` down to that norm."""
    return torch.renorm(x, p, dim, maxnorm)


Renorm = primitive("Renorm", renorm_first, init=("p", "dim", "maxnorm"))


@op(dtype=SAME)
def lp_norm(input: Tensor, axis: Any, p: int = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Tensor:
    """p-norm along axes."""
    return torch.linalg.vector_norm(input, p, normalize_axes(axis, input.ndim), keep_dims)


LpNorm = primitive("LpNorm", lp_norm, init=("axis", "p", "keep_dims", "epsilon"))


@op(dtype=SAME)
def euclidean_norm(x: Tensor, axes: Tensor, keep_dims: bool = False) -> Tensor:
    """Euclidean norm along axes."""
    over = tuple(to_python_list(axes)) if axes.ndim else (int(axes),)
    return torch.linalg.vector_norm(x, 2, check_axes(over, x.ndim), keep_dims).to(x.dtype)


EuclideanNorm = primitive("EuclideanNorm", euclidean_norm)


@op(dtype=SAME)
def nuclear_norm(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Nuclear norm: the sum of the singular values of matrices."""
    return matrix_norm_impl(x, "nuc", tuple(dim) if dim else (-2, -1), keepdim)


NuclearNorm = primitive("NuclearNorm", nuclear_norm)


@op(dtype=SAME)
def l1_penalty(weights: Tensor, scale: float) -> Tensor:
    """L1 penalty: the sum of the absolute values times `scale`."""
    return weights.abs().sum() * scale


@op(accepts=FLOATS, dtype=SAME)
def l2_norm(x: Tensor, axis: Any = (), keep_dims: bool = False) -> Tensor:
    """Euclidean norm along axes; by default along all of them."""
    return torch.linalg.vector_norm(x, 2, normalize_axes(axis, x.ndim), keep_dims)


@op("ops", "mint.linalg", "Tensor", dtype=SAME)
def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """Vector norm along one axis or matrix norm along two; without axes, the norm of all elements as one vector."""
    over = tuple(dim) if isinstance(dim, list) else dim
    return torch.linalg.norm(A, ord, over, keepdim, dtype=dtype)

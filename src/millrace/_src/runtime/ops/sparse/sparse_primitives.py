"""Operations on sparse tensors given as indices and values, or as row pointers: convert, slice, add, multiply."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import to_shape
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, INTEGERS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "Coalesce",
    "SparseSlice",
    "SparseTensorDenseAdd",
    "SparseTensorDenseMatmul",
    "SparseToDense",
    "coalesce",
    "coo2csr",
    "csr2coo",
    "csr_gather",
    "sparse_to_dense",
    "sparse_slice",
    "sparse_dense_add",
    "sparse_dense_matmul",
]


def _check_shape(name: str, indices: Tensor, values: Tensor, shape: Any) -> tuple[int, ...]:
    """Shape of a sparse tensor with one coordinate row per element, after the arguments are checked."""
    whole = to_shape(shape)
    if values.ndim != 1 or indices.shape != (values.shape[0], len(whole)):
        raise ArgumentValueError(
            f"For '{name}', there must be a row of {len(whole)} coordinates per value for the shape {list(whole)}, but "
            f"the shapes are {list(indices.shape)} and {list(values.shape)}."
        )
    return whole


def _check_range(name: str, indices: Tensor, whole: tuple[int, ...]) -> None:
    """Raise an error for coordinates (rows) out of range; this reads values."""
    limit = torch.as_tensor(whole, device=indices.device)
    if bool(((indices < 0) | (indices >= limit)).any()):
        raise ArgumentValueError(
            f"For '{name}', coordinates must be within the shape {list(whole)}, but got {indices.tolist()}."
        )


def _to_flat_indices(indices: Tensor, whole: tuple[int, ...]) -> Tensor:
    """Flat index of each element from its coordinate row."""
    flat_indices = torch.zeros(indices.shape[0], dtype=torch.int64, device=indices.device)
    for axis, length in enumerate(whole):
        flat_indices = flat_indices * length + indices[:, axis]
    return flat_indices


@op("ops", dtype=UNCHECKED)
def coalesce(x_indices: Tensor, x_values: Tensor, x_shape: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Sort the elements and sum duplicates. The coordinates of an element are a column."""
    if x_values.dtype not in FLOATS:
        raise ArgumentTypeError(
            f"For 'Coalesce', the values must be floating numbers, but got {x_values.dtype}."
        )
    whole = _check_shape("Coalesce", x_indices.transpose(0, -1), x_values, x_shape)
    rows = x_indices.t()
    _check_range("Coalesce", rows, whole)
    flat_indices, which = torch.unique(_to_flat_indices(rows, whole), return_inverse=True)
    summed = x_values.new_zeros(len(flat_indices)).index_add(0, which, x_values)
    indices = torch.stack(torch.unravel_index(flat_indices, whole)).to(x_indices.dtype)
    return indices, summed, x_shape.clone()


Coalesce = primitive("Coalesce", coalesce)


@op("ops", accepts=INTEGERS, differentiable=False)
def coo2csr(row_indices: Tensor, height: int) -> Tensor:
    """Row pointers of `height` rows, with the end of the last, from the sorted row index of each element."""
    counts = torch.zeros(int(height), dtype=row_indices.dtype, device=row_indices.device)
    counts = counts.index_add_(0, row_indices.long(), torch.ones_like(row_indices))
    return torch.cat([counts.new_zeros(1), torch.cumsum(counts, 0, dtype=counts.dtype)])


@op("ops", accepts=INTEGERS, differentiable=False)
def csr2coo(indptr: Tensor, nnz: int) -> Tensor:
    """Row index of each of `nnz` elements, from the row pointers."""
    return (
        torch.searchsorted(indptr.contiguous(), torch.arange(int(nnz), device=indptr.device), right=True)
        .to(indptr.dtype)
        .sub(1)
    )


@op("ops", dtype=UNCHECKED)
def csr_gather(indptr: Tensor, indices: Tensor, dense: Tensor, sparse_shape: Any) -> Tensor:
    """Values of a dense tensor at the coordinates of a CSR tensor."""
    to_shape(sparse_shape)
    rows = csr2coo.raw(indptr, indices.shape[0])
    return dense[rows.long(), indices.long()]


@op(dtype=UNCHECKED)
def sparse_to_dense(indices: Tensor, values: Tensor, sparse_shape: Any) -> Tensor:
    """Dense tensor with zeros elsewhere; of duplicate coordinates the last value is used."""
    whole = _check_shape("SparseToDense", indices, values, sparse_shape)
    _check_range("SparseToDense", indices, whole)
    return values.new_zeros(whole).index_put(tuple(indices.long().unbind(1)), values)


SparseToDense = primitive("SparseToDense", sparse_to_dense, ())


@op(dtype=UNCHECKED)
def sparse_dense_add(x1_indices: Tensor, x1_values: Tensor, x1_shape: Any, x2: Tensor) -> Tensor:
    """Dense tensor with the values of a sparse one added."""
    whole = _check_shape("SparseTensorDenseAdd", x1_indices, x1_values, x1_shape)
    if tuple(x2.shape) != whole:
        raise ArgumentValueError(
            f"For 'SparseTensorDenseAdd', the shapes must be equal, but got {list(whole)} and {list(x2.shape)}."
        )
    _check_range("SparseTensorDenseAdd", x1_indices, whole)
    return x2.index_put(tuple(x1_indices.long().unbind(1)), x1_values, accumulate=True)


SparseTensorDenseAdd = primitive("SparseTensorDenseAdd", sparse_dense_add, ())


@op(dtype=UNCHECKED)
def sparse_dense_matmul(
    indices: Tensor,
    values: Tensor,
    sparse_shape: Any,
    dense: Tensor,
    adjoint_st: bool = False,
    adjoint_dt: bool = False,
) -> Tensor:
    """Product of a sparse and a dense matrix, either optionally transposed."""
    height, width = whole = _check_shape("SparseTensorDenseMatmul", indices, values, sparse_shape)
    if len(whole) != 2 or dense.ndim != 2:
        raise ArgumentValueError("For 'SparseTensorDenseMatmul', both must be matrices.")
    _check_range("SparseTensorDenseMatmul", indices, whole)
    rows, columns = indices.long().unbind(1)
    if adjoint_st:
        rows, columns, height, width = columns, rows, width, height
    matrix = dense.mH if adjoint_dt else dense
    if matrix.shape[0] != width:
        raise ArgumentValueError(
            f"For 'SparseTensorDenseMatmul', the inner sizes must be equal, but the matrices are ({height}, "
            f"{width}) and "
            f"{tuple(matrix.shape)}."
        )
    return matrix.new_zeros(height, matrix.shape[1]).index_add(0, rows, values.unsqueeze(1) * matrix[columns])


SparseTensorDenseMatmul = primitive(
    "SparseTensorDenseMatmul", sparse_dense_matmul, ("adjoint_st", "adjoint_dt")
)


@op(dtype=UNCHECKED)
def sparse_slice(
    indices: Tensor, values: Tensor, shape: Tensor, start: Tensor, size: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Slice of a sparse tensor from `start` with size `size`; coordinates are relative to the slice."""
    _check_shape("SparseSlice", indices, values, shape)
    if start.shape != shape.shape or size.shape != shape.shape:
        raise ArgumentValueError(
            f"For 'SparseSlice', 'start' and 'size' must be as long as 'shape', but the shapes are "
            f"{[list(part.shape) for part in (shape, start, size)]}."
        )
    length = torch.minimum(size, shape - start).clamp_min(0)
    moved = indices - start
    kept = ((moved >= 0) & (moved < length)).all(1)
    return moved[kept], values[kept], length


SparseSlice = primitive("SparseSlice", sparse_slice)

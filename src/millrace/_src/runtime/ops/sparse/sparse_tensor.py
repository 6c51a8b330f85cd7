"""Sparse tensors: COOTensor, CSRTensor, RowTensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import unwrap, wrap

__all__ = ["COOTensor", "CSRTensor", "RowTensor", "SparseTensor"]


def _check_tensor(class_name: str, name: str, value: Any, whole: bool) -> Tensor:
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(f"For {class_name}, '{name}' must be a Tensor, but got {value!r}.")
    if whole and value._torch.dtype not in (torch.int16, torch.int32, torch.int64):
        raise ArgumentTypeError(
            f"For {class_name}, '{name}' must be of int16, int32 or int64, but got {value.dtype}; use astype."
        )
    return value


def _check_shape(class_name: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, tuple):
        raise ArgumentTypeError(f"For {class_name}, 'shape' must be a tuple, but got {shape!r}.")
    if not shape or any(isinstance(n, bool) or not isinstance(n, int) or n <= 0 for n in shape):
        raise ArgumentValueError(f"For {class_name}, 'shape' must hold positive ints, but got {shape!r}.")
    return shape


class _Sparse:
    """Common base of the sparse formats: values, dtype, and elementwise arithmetic."""

    values: Tensor
    shape: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """Dtype of the elements."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of stored elements."""
        return int(self.values.size)

    @property
    def itemsize(self) -> int:
        """Size of an element in bytes."""
        return self.values._torch.element_size()

    def with_values(self, values: Tensor) -> Any:
        """Sparse tensor with the same indices and other values."""
        raise NotImplementedError

    def abs(self) -> Any:
        """Absolute value of each element."""
        return self.with_values(wrap(torch.abs(self.values._torch)))

    def astype(self, dtype: Any) -> Any:
        """Cast the elements to a dtype."""
        return self.with_values(self.values.astype(dtype))

    def __neg__(self) -> Any:
        return self.with_values(wrap(-self.values._torch))


@public("millrace")
class COOTensor(_Sparse):
    """Sparse tensor in coordinate (COO) format: a row of coordinates and a value for each stored element.

    >>> import millrace as ms
    >>> from millrace._src.runtime.ops.sparse.coo_csr import COOTensor
    >>> sparse = COOTensor(ms.Tensor([[0, 1], [1, 0]]), ms.Tensor([3.0, 4.0]), (2, 2))
    >>> sparse.to_dense().asnumpy().tolist()
    [[0.0, 3.0], [4.0, 0.0]]
    """

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, coo_tensor: COOTensor | None = None
    ) -> None:
        if coo_tensor is not None:
            if not isinstance(coo_tensor, COOTensor):
                raise ArgumentTypeError(
                    f"For COOTensor, 'coo_tensor' must be a COOTensor, but got {coo_tensor!r}."
                )
            indices, values, shape = coo_tensor.to_tuple()
        self.indices = _check_tensor("COOTensor", "indices", indices, True)
        self.values = _check_tensor("COOTensor", "values", values, False)
        self.shape = _check_shape("COOTensor", shape)
        index_tensor = self.indices._torch
        if (
            index_tensor.ndim != 2
            or index_tensor.shape[1] != len(self.shape)
            or index_tensor.shape[0] != self.values.shape[0]
        ):
            raise ArgumentValueError(
                f"For COOTensor, 'indices' must have shape (count, {len(self.shape)}) and 'values' as many "
                f"rows, but got {list(index_tensor.shape)} and {list(self.values.shape)}."
            )

    def with_values(self, values: Tensor) -> COOTensor:
        """Sparse tensor with the same indices and other values."""
        return COOTensor(self.indices, values, self.shape)

    def _sparse(self) -> torch.Tensor:
        # PyTorch 2.11 warns if only the argument check_invariants is set
        with torch.sparse.check_sparse_tensor_invariants():
            return torch.sparse_coo_tensor(self.indices._torch.t().long(), self.values._torch, self.shape)

    def to_tuple(self) -> tuple[Tensor, Tensor, tuple[int, ...]]:
        """Indices, values and shape."""
        return self.indices, self.values, self.shape

    def to_dense(self) -> Tensor:
        """Convert to a dense tensor."""
        return wrap(self._sparse().to_dense())

    def to_csr(self) -> CSRTensor:
        """Convert to CSR format."""
        return _from_torch_csr(self._sparse(), self.indices._torch.dtype)

    def coalesce(self) -> COOTensor:
        """Sort the coordinates and sum duplicates."""
        return _from_torch_coo(self._sparse(), self.indices._torch.dtype)

    def add(self, other: COOTensor, thresh: Any) -> COOTensor:
        """Sum of two sparse tensors; elements below a threshold are dropped."""
        total = (self._sparse() + other._sparse()).coalesce()
        keep = total.values().abs() >= unwrap(thresh)
        indices = total.indices().t()[keep].to(self.indices._torch.dtype)
        return COOTensor(wrap(indices), wrap(total.values()[keep]), self.shape)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, COOTensor):
            return _from_torch_coo(self._sparse() + other._sparse(), self.indices._torch.dtype)
        return wrap(self._sparse().to_dense() + unwrap(other))

    __radd__ = __add__

    def __mul__(self, other: Any) -> COOTensor:
        if isinstance(other, Tensor) and other.ndim:
            coordinates = self.indices._torch.long().unbind(1)
            return self.with_values(wrap(self.values._torch * other._torch.expand(self.shape)[coordinates]))
        return self.with_values(wrap(self.values._torch * unwrap(other)))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        start = f"COOTensor(shape={list(self.shape)}, dtype={self.dtype}"
        return f"{start}, indices={self.indices!r}, values={self.values!r})"


@public("millrace")
class SparseTensor(COOTensor):
    """The old name of :class:`COOTensor`."""

    def __init__(self, indices: Any, values: Any, shape: Any) -> None:
        super().__init__(indices, values, shape)


@public("millrace")
class CSRTensor(_Sparse):
    """Sparse matrix in compressed sparse row (CSR) format: row pointers, and the column and value of each stored
    element.

    >>> import millrace as ms
    >>> from millrace._src.runtime.ops.sparse.coo_csr import CSRTensor
    >>> sparse = CSRTensor(ms.Tensor([0, 1, 2]), ms.Tensor([1, 0]), ms.Tensor([3.0, 4.0]), (2, 2))
    >>> sparse.to_dense().asnumpy().tolist()
    [[0.0, 3.0], [4.0, 0.0]]
    """

    def __init__(
        self,
        indptr: Any = None,
        indices: Any = None,
        values: Any = None,
        shape: Any = None,
        csr_tensor: CSRTensor | None = None,
    ) -> None:
        if csr_tensor is not None:
            if not isinstance(csr_tensor, CSRTensor):
                raise ArgumentTypeError(
                    f"For CSRTensor, 'csr_tensor' must be a CSRTensor, but got {csr_tensor!r}."
                )
            indptr, indices, values, shape = csr_tensor.to_tuple()
        self.indptr = _check_tensor("CSRTensor", "indptr", indptr, True)
        self.indices = _check_tensor("CSRTensor", "indices", indices, True)
        self.values = _check_tensor("CSRTensor", "values", values, False)
        self.shape = _check_shape("CSRTensor", shape)
        if self.indptr.shape != (self.shape[0] + 1,) or self.indices.shape[:1] != self.values.shape[:1]:
            raise ArgumentValueError(
                f"For CSRTensor, 'indptr' must hold {self.shape[0] + 1} numbers, and 'indices' as many "
                f"as 'values', but got {self.indptr.shape}, {self.indices.shape} and {self.values.shape}."
            )

    def with_values(self, values: Tensor) -> CSRTensor:
        """Sparse tensor with the same indices and other values."""
        return CSRTensor(self.indptr, self.indices, values, self.shape)

    def rows(self) -> torch.Tensor:
        """Row index of each stored element."""
        starts = self.indptr._torch.long()
        numbers = torch.arange(self.shape[0], device=starts.device)
        return torch.repeat_interleave(numbers, starts.diff(), output_size=self.indices._torch.numel())

    def to_tuple(self) -> tuple[Tensor, Tensor, Tensor, tuple[int, ...]]:
        """Row pointers, column indices, values and shape."""
        return self.indptr, self.indices, self.values, self.shape

    def to_coo(self) -> COOTensor:
        """Convert to COO format."""
        coordinates = torch.stack([self.rows(), self.indices._torch.long()], 1).to(self.indices._torch.dtype)
        return COOTensor(wrap(coordinates), self.values, self.shape)

    def to_dense(self) -> Tensor:
        """Convert to a dense tensor."""
        return self.to_coo().to_dense()

    def mm(self, matrix: Any) -> Any:
        """Product with a matrix, dense or sparse."""
        if isinstance(matrix, CSRTensor):
            product = self.mm(matrix.to_dense())._torch
            return _from_torch_csr(product.to_sparse(), self.indices._torch.dtype)
        columns, rows = self.indices._torch.long(), self.rows()
        parts = matrix._torch[columns] * self.values._torch.unsqueeze(-1)
        return wrap(parts.new_zeros(self.shape[0], parts.shape[1]).index_add(0, rows, parts))

    def mv(self, dense_vector: Tensor) -> Tensor:
        """Product with a vector, given as one column."""
        product: Tensor = self.mm(dense_vector)
        return product

    def sum(self, axis: int) -> Tensor:
        """Sum of the rows (axis 1) as one column, or of the columns (axis 0) as one row."""
        if axis not in (0, 1, -1, -2):
            raise ArgumentValueError(f"For CSRTensor.sum, 'axis' must be 0 or 1, but got {axis}.")
        return wrap(self.to_dense()._torch.sum(axis, keepdim=True))

    def add(self, other: CSRTensor, alpha: Any, beta: Any) -> CSRTensor:
        """alpha times this tensor plus beta times the other."""
        total = self.to_coo()._sparse() * unwrap(alpha) + other.to_coo()._sparse() * unwrap(beta)
        return _from_torch_csr(total, self.indices._torch.dtype)

    def _scaled(self, other: Any, function: Callable[[torch.Tensor, Any], torch.Tensor]) -> CSRTensor:
        if isinstance(other, Tensor) and other.ndim:
            other = wrap(other._torch.expand(self.shape)[self.rows(), self.indices._torch.long()])
        return self.with_values(wrap(function(self.values._torch, unwrap(other))))

    def __mul__(self, other: Any) -> CSRTensor:
        return self._scaled(other, torch.mul)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> CSRTensor:
        return self._scaled(other, torch.true_divide)

    def __repr__(self) -> str:
        return (
            f"CSRTensor(shape={list(self.shape)}, dtype={self.dtype}, indptr={self.indptr!r}, "
            f"indices={self.indices!r}, values={self.values!r})"
        )


@public("millrace")
class RowTensor:
    """Selected rows of a large tensor: their indices, their values and the dense shape."""

    def __init__(
        self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: RowTensor | None = None
    ) -> None:
        if row_tensor is not None:
            indices, values, shape = vars(row_tensor).values()
        self.indices = _check_tensor("RowTensor", "indices", indices, True)
        self.values = _check_tensor("RowTensor", "values", values, False)
        self.dense_shape = _check_shape("RowTensor", shape)

    def __repr__(self) -> str:
        return f"RowTensor(shape={list(self.dense_shape)}, indices={self.indices!r}, values={self.values!r})"


def _from_torch_coo(sparse: torch.Tensor, index_dtype: torch.dtype) -> COOTensor:
    """Convert a PyTorch sparse tensor to a COOTensor."""
    sparse = sparse.coalesce()
    return COOTensor(wrap(sparse.indices().t().to(index_dtype)), wrap(sparse.values()), tuple(sparse.shape))


def _from_torch_csr(sparse: torch.Tensor, index_dtype: torch.dtype) -> CSRTensor:
    sparse = sparse.coalesce()
    rows, columns = sparse.indices()
    counts = torch.bincount(rows, minlength=sparse.shape[0]).cumsum(0)
    starts = torch.nn.functional.pad(counts, (1, 0)).to(index_dtype)
    return CSRTensor(wrap(starts), wrap(columns.to(index_dtype)), wrap(sparse.values()), tuple(sparse.shape))

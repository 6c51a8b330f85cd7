"""Sparse layers: SparseToDense, SparseTensorDenseMatmul."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.sparse.sparse_tensor import COOTensor

__all__ = ["SparseTensorDenseMatmul", "SparseToDense"]


@public("nn")
class SparseToDense(Cell):
    """Convert a sparse tensor to a dense one.

    >>> from millrace import COOTensor, Tensor
    >>> SparseToDense()(COOTensor(Tensor([[0, 1]]), Tensor([3.0]), (1, 2))).tolist()
    [[0.0, 3.0]]
    """

    def __init__(self) -> None:
        super().__init__()

    def construct(self, coo_tensor: COOTensor) -> Any:
        if not isinstance(coo_tensor, COOTensor):
            raise ArgumentTypeError(f"For 'SparseToDense', expected a COOTensor, but got {coo_tensor!r}.")
        return coo_tensor.to_dense()


@public("nn")
class SparseTensorDenseMatmul(Cell):
    """Product of a sparse matrix, given by indices, values and shape, and a dense matrix; either may be
    transposed.

    >>> from millrace import Tensor
    >>> product = SparseTensorDenseMatmul()
    >>> product(Tensor([[0, 1]]), Tensor([2.0]), (1, 2), Tensor([[5.0], [7.0]])).tolist()
    [[14.0]]
    """

    def __init__(self, adjoint_st: bool = False, adjoint_dt: bool = False) -> None:
        super().__init__()
        for name, value in (("adjoint_st", adjoint_st), ("adjoint_dt", adjoint_dt)):
            if not isinstance(value, bool):
                raise ArgumentTypeError(
                    f"For 'SparseTensorDenseMatmul', the type of '{name}' should be 'bool', "
                    f"but got type '{type(value).__name__}'."
                )
        self.adjoint_st, self.adjoint_dt = adjoint_st, adjoint_dt

    def construct(self, indices: Any, values: Any, sparse_shape: Any, dense: Any) -> Any:
        matrix = COOTensor(indices, values, sparse_shape).to_dense()
        left = matrix.T if self.adjoint_st else matrix
        return matmul(left, dense.T if self.adjoint_dt else dense)

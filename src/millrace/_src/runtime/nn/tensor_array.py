"""Cells that hold tensors by number, sparse products, and the next batch of a queue."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.values.dtype import DType
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.linalg.matmul import matmul
from millrace._src.runtime.ops.sparse.sparse_tensor import COOTensor
from millrace._src.runtime.tensor.storage import as_torch_tensor, host_read_listeners, to_torch_dtype, wrap

from .cell import Cell

__all__ = ["SparseTensorDenseMatmul", "SparseToDense", "TensorArray"]


class TensorArray(Cell):
    """Tensors of one shape by number; those not written yet are zeros. With `dynamic_size` it grows as it is written.

    A recording cannot follow what it holds: a step with one runs operation by operation in Graph mode.

    >>> from millrace import float32
    >>> array = TensorArray(float32, ())
    >>> array.write(0, 1.0), array.write(2, 3.0)
    (True, True)
    >>> array.stack().tolist(), array.size().item()
    ([1.0, 0.0, 3.0], 3)
    """

    def __init__(
        self, dtype: DType, element_shape: Any, dynamic_size: bool = True, size: int = 0, name: str = "TA"
    ) -> None:
        super().__init__()
        if not isinstance(dtype, DType):
            raise ArgumentTypeError(
                f"For 'TensorArray', 'dtype' must be a type of elements, but got {dtype!r}."
            )
        if not isinstance(element_shape, (tuple, list)):
            raise ArgumentTypeError(
                f"For 'TensorArray', 'element_shape' must be a tuple, but got {element_shape!r}."
            )
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ArgumentValueError(
                f"For 'TensorArray', 'size' must be int and must >= 0, but got {size!r}."
            )
        self.dtype, self.element_shape = dtype, tuple(element_shape)
        self.dynamic_size, self.name = dynamic_size, name
        self._held: list[torch.Tensor] | None = [self._zeros() for _ in range(size)]
        self._fixed = size

    def _zeros(self) -> torch.Tensor:
        return torch.zeros(self.element_shape, dtype=to_torch_dtype(self.dtype))

    def _open(self) -> list[torch.Tensor]:
        for told in host_read_listeners:
            told("what a TensorArray holds")
        if self._held is None:
            raise OperationError(f"TensorArray {self.name!r} was closed")
        return self._held

    def _place(self, index: Any) -> int:
        if isinstance(index, Tensor):
            index = index.item()
        if not isinstance(index, int) or isinstance(index, bool):
            raise ArgumentTypeError(f"For 'TensorArray', the 'index' should be int, but got {index!r}.")
        if index < 0 or (not self.dynamic_size and index >= self._fixed):
            raise ArgumentValueError(
                f"For 'TensorArray', index {index} is out of {self._fixed} elements; dynamic_size=True lets it grow."
            )
        return index

    def write(self, index: Any, value: Any) -> bool:
        """Put a value in a place."""
        held, place = self._open(), self._place(index)
        given = as_torch_tensor(value)
        if tuple(given.shape) != self.element_shape:
            raise ArgumentValueError(
                f"For 'TensorArray', elements have shape {self.element_shape}, but got {tuple(given.shape)}."
            )
        held.extend(self._zeros() for _ in range(place + 1 - len(held)))
        held[place] = given.to(to_torch_dtype(self.dtype))
        return True

    def read(self, index: Any) -> Tensor:
        """The tensor in a place."""
        held, place = self._open(), self._place(index)
        if place >= len(held):
            raise ArgumentValueError(f"For 'TensorArray', index {place} is out of {len(held)} elements.")
        return wrap(held[place])

    def stack(self) -> Tensor:
        """All tensors as one, along a new first axis."""
        held = self._open()
        empty = torch.empty((0, *self.element_shape), dtype=to_torch_dtype(self.dtype))
        return wrap(torch.stack(held) if held else empty)

    def size(self) -> Tensor:
        """How many there are."""
        return Tensor(len(self._open()))

    def clear(self) -> bool:
        """Let go of all of them; it can be written again."""
        self._open().clear()
        return True

    def close(self) -> bool:
        """Let go of all of them for good."""
        self._held = None
        return True


class SparseToDense(Cell):
    """A sparse tensor with its zeros.

    >>> from millrace import COOTensor
    >>> SparseToDense()(COOTensor(Tensor([[0, 1]]), Tensor([3.0]), (1, 2))).tolist()
    [[0.0, 3.0]]
    """

    def __init__(self) -> None:
        super().__init__()

    def construct(self, coo_tensor: COOTensor) -> Any:
        if not isinstance(coo_tensor, COOTensor):
            raise ArgumentTypeError(f"For 'SparseToDense', a COOTensor is wanted, but got {coo_tensor!r}.")
        return coo_tensor.to_dense()


class SparseTensorDenseMatmul(Cell):
    """A sparse matrix, given by its places, values and shape, times a dense one; either may be transposed.

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

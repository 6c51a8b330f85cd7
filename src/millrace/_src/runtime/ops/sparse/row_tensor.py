"""RowTensor operations: values, indices, sum with a dense tensor."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import export_names, public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import wrap

from .coo_csr import make_row_tensor
from .sparse_tensor import RowTensor

__all__ = [
    "make_row_tensor_inner",
    "row_tensor_add",
    "row_tensor_get_dense_shape",
    "row_tensor_get_indices",
    "row_tensor_get_values",
]

make_row_tensor_inner = make_row_tensor
export_names(__name__, "ops", "make_row_tensor_inner")


def _check_row_tensor(name: str, x: Any) -> RowTensor:
    if not isinstance(x, RowTensor):
        raise ArgumentTypeError(f"For '{name}', the input must be a RowTensor, but got {x!r}.")
    return x


@public("ops")
def row_tensor_get_values(x: RowTensor) -> Tensor:
    """Values of the stored rows.

    >>> rows = RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (2, 2))
    >>> row_tensor_get_values(rows).shape
    (1, 2)
    """
    return _check_row_tensor("row_tensor_get_values", x).values


@public("ops")
def row_tensor_get_indices(x: RowTensor) -> Tensor:
    """Indices of the stored rows."""
    return _check_row_tensor("row_tensor_get_indices", x).indices


@public("ops")
def row_tensor_get_dense_shape(x: RowTensor) -> tuple[int, ...]:
    """Dense shape of the tensor."""
    return tuple(_check_row_tensor("row_tensor_get_dense_shape", x).dense_shape)


@public("ops")
def row_tensor_add(x: RowTensor, y: Tensor) -> Tensor:
    """Dense tensor with the rows of a RowTensor added.

    >>> rows = RowTensor(Tensor([1]), Tensor([[1.0, 2.0]]), (2, 2))
    >>> row_tensor_add(rows, Tensor([[0.0, 0.0], [10.0, 10.0]])).asnumpy().tolist()
    [[0.0, 0.0], [11.0, 12.0]]
    """
    rows = _check_row_tensor("row_tensor_add", x)
    return wrap(y._torch.index_add(0, rows.indices._torch.long(), rows.values._torch))

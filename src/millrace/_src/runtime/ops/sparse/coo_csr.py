"""Operations on sparse tensors in COO and CSR format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
import torch.nn.functional as F

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import export_names, public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import wrap

from .sparse_tensor import COOTensor, CSRTensor, RowTensor

__all__ = [
    "COOTensor",
    "CSRTensor",
    "RowTensor",
    "coo_abs",
    "coo_acos",
    "coo_acosh",
    "coo_add",
    "coo_asin",
    "coo_asinh",
    "coo_atan",
    "coo_atanh",
    "coo_ceil",
    "coo_concat",
    "coo_cos",
    "coo_cosh",
    "coo_exp",
    "coo_expm1",
    "coo_floor",
    "coo_inv",
    "coo_isfinite",
    "coo_isinf",
    "coo_isnan",
    "coo_log",
    "coo_log1p",
    "coo_neg",
    "coo_relu",
    "coo_relu6",
    "coo_round",
    "coo_sigmoid",
    "coo_sin",
    "coo_sinh",
    "coo_softsign",
    "coo_sqrt",
    "coo_square",
    "coo_tan",
    "coo_tanh",
    "coo_tensor_get_dense_shape",
    "coo_tensor_get_indices",
    "coo_tensor_get_values",
    "csr_abs",
    "csr_acos",
    "csr_acosh",
    "csr_add",
    "csr_asin",
    "csr_asinh",
    "csr_atan",
    "csr_atanh",
    "csr_ceil",
    "csr_cos",
    "csr_cosh",
    "csr_div",
    "csr_exp",
    "csr_expm1",
    "csr_floor",
    "csr_inv",
    "csr_isfinite",
    "csr_isinf",
    "csr_isnan",
    "csr_log",
    "csr_log1p",
    "csr_mm",
    "csr_mul",
    "csr_mv",
    "csr_neg",
    "csr_reduce_sum",
    "csr_relu",
    "csr_relu6",
    "csr_round",
    "csr_sigmoid",
    "csr_sin",
    "csr_sinh",
    "csr_softmax",
    "csr_softsign",
    "csr_sqrt",
    "csr_square",
    "csr_tan",
    "csr_tanh",
    "csr_tensor_get_indptr",
    "csr_to_coo",
    "csr_to_dense",
    "dense_to_sparse_coo",
    "dense_to_sparse_csr",
    "make_coo_tensor",
    "make_csr_tensor",
    "make_row_tensor",
    "make_sparse_tensor",
]

S = TypeVar("S", COOTensor, CSRTensor)


def _map_values(
    sparse_class: type[S], name: str, function: Callable[[torch.Tensor], torch.Tensor]
) -> Callable[[S], S]:
    """Apply a function to the stored elements."""

    def call(x: S) -> S:
        if not isinstance(x, sparse_class):
            raise ArgumentTypeError(
                f"For '{name}', the input must be a {sparse_class.__name__}, but got {x!r}."
            )
        output: S = x.with_values(wrap(function(x.values._torch)))
        return output

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name[4:]}` of each element that is held."
    return call


coo_abs = _map_values(COOTensor, "coo_abs", torch.abs)
coo_acos = _map_values(COOTensor, "coo_acos", torch.acos)
coo_acosh = _map_values(COOTensor, "coo_acosh", torch.acosh)
coo_asin = _map_values(COOTensor, "coo_asin", torch.asin)
coo_asinh = _map_values(COOTensor, "coo_asinh", torch.asinh)
coo_atan = _map_values(COOTensor, "coo_atan", torch.atan)
coo_atanh = _map_values(COOTensor, "coo_atanh", torch.atanh)
coo_ceil = _map_values(COOTensor, "coo_ceil", torch.ceil)
coo_cos = _map_values(COOTensor, "coo_cos", torch.cos)
coo_cosh = _map_values(COOTensor, "coo_cosh", torch.cosh)
coo_exp = _map_values(COOTensor, "coo_exp", torch.exp)
coo_expm1 = _map_values(COOTensor, "coo_expm1", torch.expm1)
coo_floor = _map_values(COOTensor, "coo_floor", torch.floor)
coo_inv = _map_values(COOTensor, "coo_inv", torch.reciprocal)
coo_isfinite = _map_values(COOTensor, "coo_isfinite", torch.isfinite)
coo_isinf = _map_values(COOTensor, "coo_isinf", torch.isinf)
coo_isnan = _map_values(COOTensor, "coo_isnan", torch.isnan)
coo_log = _map_values(COOTensor, "coo_log", torch.log)
coo_log1p = _map_values(COOTensor, "coo_log1p", torch.log1p)
coo_neg = _map_values(COOTensor, "coo_neg", torch.neg)
coo_relu = _map_values(COOTensor, "coo_relu", torch.relu)
coo_relu6 = _map_values(COOTensor, "coo_relu6", F.relu6)
coo_round = _map_values(COOTensor, "coo_round", torch.round)
coo_sigmoid = _map_values(COOTensor, "coo_sigmoid", torch.sigmoid)
coo_sin = _map_values(COOTensor, "coo_sin", torch.sin)
coo_sinh = _map_values(COOTensor, "coo_sinh", torch.sinh)
coo_softsign = _map_values(COOTensor, "coo_softsign", F.softsign)
coo_sqrt = _map_values(COOTensor, "coo_sqrt", torch.sqrt)
coo_square = _map_values(COOTensor, "coo_square", torch.square)
coo_tan = _map_values(COOTensor, "coo_tan", torch.tan)
coo_tanh = _map_values(COOTensor, "coo_tanh", torch.tanh)
csr_abs = _map_values(CSRTensor, "csr_abs", torch.abs)
csr_acos = _map_values(CSRTensor, "csr_acos", torch.acos)
csr_acosh = _map_values(CSRTensor, "csr_acosh", torch.acosh)
csr_asin = _map_values(CSRTensor, "csr_asin", torch.asin)
csr_asinh = _map_values(CSRTensor, "csr_asinh", torch.asinh)
csr_atan = _map_values(CSRTensor, "csr_atan", torch.atan)
csr_atanh = _map_values(CSRTensor, "csr_atanh", torch.atanh)
csr_ceil = _map_values(CSRTensor, "csr_ceil", torch.ceil)
csr_cos = _map_values(CSRTensor, "csr_cos", torch.cos)
csr_cosh = _map_values(CSRTensor, "csr_cosh", torch.cosh)
csr_exp = _map_values(CSRTensor, "csr_exp", torch.exp)
csr_expm1 = _map_values(CSRTensor, "csr_expm1", torch.expm1)
csr_floor = _map_values(CSRTensor, "csr_floor", torch.floor)
csr_inv = _map_values(CSRTensor, "csr_inv", torch.reciprocal)
csr_isfinite = _map_values(CSRTensor, "csr_isfinite", torch.isfinite)
csr_isinf = _map_values(CSRTensor, "csr_isinf", torch.isinf)
csr_isnan = _map_values(CSRTensor, "csr_isnan", torch.isnan)
csr_log = _map_values(CSRTensor, "csr_log", torch.log)
csr_log1p = _map_values(CSRTensor, "csr_log1p", torch.log1p)
csr_neg = _map_values(CSRTensor, "csr_neg", torch.neg)
csr_relu = _map_values(CSRTensor, "csr_relu", torch.relu)
csr_relu6 = _map_values(CSRTensor, "csr_relu6", F.relu6)
csr_round = _map_values(CSRTensor, "csr_round", torch.round)
csr_sigmoid = _map_values(CSRTensor, "csr_sigmoid", torch.sigmoid)
csr_sin = _map_values(CSRTensor, "csr_sin", torch.sin)
csr_sinh = _map_values(CSRTensor, "csr_sinh", torch.sinh)
csr_softsign = _map_values(CSRTensor, "csr_softsign", F.softsign)
csr_sqrt = _map_values(CSRTensor, "csr_sqrt", torch.sqrt)
csr_square = _map_values(CSRTensor, "csr_square", torch.square)
csr_tan = _map_values(CSRTensor, "csr_tan", torch.tan)
csr_tanh = _map_values(CSRTensor, "csr_tanh", torch.tanh)


@public("ops")
def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """Sum of two COO tensors; elements below a threshold are dropped."""
    return x1.add(x2, thresh)


@public("ops")
def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """Concatenate COO tensors along an axis."""
    parts = list(sp_input)
    if len(parts) < 2:
        raise ArgumentValueError(f"For 'coo_concat', at least two tensors are needed, but got {len(parts)}.")
    axis = concat_dim % parts[0].ndim
    indices, offset = [], 0
    for part in parts:
        moved = part.indices._torch.clone()
        moved[:, axis] += offset
        indices.append(moved)
        offset += part.shape[axis]
    shape = tuple(offset if each == axis else length for each, length in enumerate(parts[0].shape))
    values = torch.cat([part.values._torch for part in parts])
    return COOTensor(wrap(torch.cat(indices)), wrap(values), shape).coalesce()


@public("ops")
def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """alpha * a + beta * b."""
    return a.add(b, alpha, beta)


@public("ops")
def csr_mul(x: CSRTensor, y: Any) -> CSRTensor:
    """Product of the stored elements with a dense tensor, which is broadcast."""
    return x * y


@public("ops")
def csr_div(x: CSRTensor, y: Any) -> CSRTensor:
    """Quotient of the stored elements and a dense tensor, which is broadcast."""
    return x / y


@public("ops")
def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """Product of a CSR matrix and a vector, given as one column."""
    return csr_tensor.mv(dense)


@public("ops")
def csr_mm(
    a: CSRTensor,
    b: Any,
    trans_a: bool = False,
    trans_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
) -> Any:
    """Product of a CSR matrix and a matrix, dense or sparse; either operand optionally transposed."""
    left = _transpose_csr(a, adjoint_a) if trans_a or adjoint_a else a
    if isinstance(b, CSRTensor):
        return left.mm(_transpose_csr(b, adjoint_b) if trans_b or adjoint_b else b)
    right = b._torch.mH if adjoint_b else b._torch.mT if trans_b else b._torch
    return left.mm(wrap(right))


def _transpose_csr(x: CSRTensor, conjugate: bool) -> CSRTensor:
    coo = x.to_coo()
    values = coo.values._torch.conj() if conjugate else coo.values._torch
    return COOTensor(wrap(coo.indices._torch.flip(1)), wrap(values), (x.shape[1], x.shape[0])).to_csr()


@public("ops")
def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """Sum of rows or columns."""
    return csr_tensor.sum(axis)


@public("ops")
def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """Softmax of each row over the stored elements."""
    values, rows = logits.astype(dtype).values._torch, logits.rows()
    top = values.new_full((logits.shape[0],), float("-inf")).scatter_reduce(0, rows, values, "amax")
    exponentials = torch.exp(values - top[rows])
    return logits.with_values(
        wrap(exponentials / values.new_zeros(logits.shape[0]).index_add(0, rows, exponentials)[rows])
    )


@public("ops")
def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """Convert a CSR tensor to COO format."""
    return tensor.to_coo()


@public("ops")
def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """Convert a CSR tensor to a dense tensor."""
    return csr_tensor.to_dense()


@public("ops", "Tensor:to_coo")
def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """Nonzero elements of a matrix in COO format."""
    indices = torch.nonzero(tensor._torch)
    return COOTensor(wrap(indices), wrap(tensor._torch[tuple(indices.t())]), tuple(tensor.shape))


@public("ops", "Tensor:to_csr")
def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """Nonzero elements of a matrix in CSR format."""
    coo = dense_to_sparse_coo(tensor)
    return COOTensor(wrap(coo.indices._torch.int()), coo.values, coo.shape).to_csr()


@public("ops")
def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> COOTensor:
    """Create a COO tensor."""
    return COOTensor(indices, values, dense_shape)


@public("ops", "ops:make_sparse_tensor")
def make_sparse_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> COOTensor:
    """Create a COO tensor."""
    return COOTensor(indices, values, dense_shape)


@public("ops")
def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, dense_shape: Any) -> CSRTensor:
    """Create a CSR tensor."""
    return CSRTensor(indptr, indices, values, dense_shape)


@public("ops")
def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> RowTensor:
    """Create a RowTensor."""
    return RowTensor(indices, values, dense_shape)


@public("ops", "ops:csr_tensor_get_values")
def coo_tensor_get_values(x: Any) -> Tensor:
    """Values of the stored elements."""
    return x.values


@public("ops", "ops:csr_tensor_get_indices")
def coo_tensor_get_indices(x: Any) -> Tensor:
    """Coordinates of the stored elements."""
    return x.indices


@public("ops", "ops:csr_tensor_get_dense_shape")
def coo_tensor_get_dense_shape(x: Any) -> tuple[int, ...]:
    """Dense shape of the tensor."""
    return x.shape


@public("ops")
def csr_tensor_get_indptr(x: CSRTensor) -> Tensor:
    """Row pointers: the start of each row."""
    return x.indptr


export_names(
    __name__, "ops",
    "coo_abs",
    "coo_acos",
    "coo_acosh",
    "coo_asin",
    "coo_asinh",
    "coo_atan",
    "coo_atanh",
    "coo_ceil",
    "coo_cos",
    "coo_cosh",
    "coo_exp",
    "coo_expm1",
    "coo_floor",
    "coo_inv",
    "coo_isfinite",
    "coo_isinf",
    "coo_isnan",
    "coo_log",
    "coo_log1p",
    "coo_neg",
    "coo_relu",
    "coo_relu6",
    "coo_round",
    "coo_sigmoid",
    "coo_sin",
    "coo_sinh",
    "coo_softsign",
    "coo_sqrt",
    "coo_square",
    "coo_tan",
    "coo_tanh",
    "csr_abs",
    "csr_acos",
    "csr_acosh",
    "csr_asin",
    "csr_asinh",
    "csr_atan",
    "csr_atanh",
    "csr_ceil",
    "csr_cos",
    "csr_cosh",
    "csr_exp",
    "csr_expm1",
    "csr_floor",
    "csr_inv",
    "csr_isfinite",
    "csr_isinf",
    "csr_isnan",
    "csr_log",
    "csr_log1p",
    "csr_neg",
    "csr_relu",
    "csr_relu6",
    "csr_round",
    "csr_sigmoid",
    "csr_sin",
    "csr_sinh",
    "csr_softsign",
    "csr_sqrt",
    "csr_square",
    "csr_tan",
    "csr_tanh",
)  # fmt: skip

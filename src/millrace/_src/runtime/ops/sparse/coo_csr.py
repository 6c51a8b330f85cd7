"""Operations on sparse tensors."""

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


def _each(kind: type[S], name: str, function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[S], S]:
    """An operation on each element that is held; zeros stay away."""

    def call(x: S) -> S:
        if not isinstance(x, kind):
            raise ArgumentTypeError(f"For '{name}', the input must be a {kind.__name__}, but got {x!r}.")
        made: S = x.with_values(wrap(function(x.values._torch)))
        return made

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name[4:]}` of each element that is held."
    return call


coo_abs = _each(COOTensor, "coo_abs", torch.abs)
coo_acos = _each(COOTensor, "coo_acos", torch.acos)
coo_acosh = _each(COOTensor, "coo_acosh", torch.acosh)
coo_asin = _each(COOTensor, "coo_asin", torch.asin)
coo_asinh = _each(COOTensor, "coo_asinh", torch.asinh)
coo_atan = _each(COOTensor, "coo_atan", torch.atan)
coo_atanh = _each(COOTensor, "coo_atanh", torch.atanh)
coo_ceil = _each(COOTensor, "coo_ceil", torch.ceil)
coo_cos = _each(COOTensor, "coo_cos", torch.cos)
coo_cosh = _each(COOTensor, "coo_cosh", torch.cosh)
coo_exp = _each(COOTensor, "coo_exp", torch.exp)
coo_expm1 = _each(COOTensor, "coo_expm1", torch.expm1)
coo_floor = _each(COOTensor, "coo_floor", torch.floor)
coo_inv = _each(COOTensor, "coo_inv", torch.reciprocal)
coo_isfinite = _each(COOTensor, "coo_isfinite", torch.isfinite)
coo_isinf = _each(COOTensor, "coo_isinf", torch.isinf)
coo_isnan = _each(COOTensor, "coo_isnan", torch.isnan)
coo_log = _each(COOTensor, "coo_log", torch.log)
coo_log1p = _each(COOTensor, "coo_log1p", torch.log1p)
coo_neg = _each(COOTensor, "coo_neg", torch.neg)
coo_relu = _each(COOTensor, "coo_relu", torch.relu)
coo_relu6 = _each(COOTensor, "coo_relu6", F.relu6)
coo_round = _each(COOTensor, "coo_round", torch.round)
coo_sigmoid = _each(COOTensor, "coo_sigmoid", torch.sigmoid)
coo_sin = _each(COOTensor, "coo_sin", torch.sin)
coo_sinh = _each(COOTensor, "coo_sinh", torch.sinh)
coo_softsign = _each(COOTensor, "coo_softsign", F.softsign)
coo_sqrt = _each(COOTensor, "coo_sqrt", torch.sqrt)
coo_square = _each(COOTensor, "coo_square", torch.square)
coo_tan = _each(COOTensor, "coo_tan", torch.tan)
coo_tanh = _each(COOTensor, "coo_tanh", torch.tanh)
csr_abs = _each(CSRTensor, "csr_abs", torch.abs)
csr_acos = _each(CSRTensor, "csr_acos", torch.acos)
csr_acosh = _each(CSRTensor, "csr_acosh", torch.acosh)
csr_asin = _each(CSRTensor, "csr_asin", torch.asin)
csr_asinh = _each(CSRTensor, "csr_asinh", torch.asinh)
csr_atan = _each(CSRTensor, "csr_atan", torch.atan)
csr_atanh = _each(CSRTensor, "csr_atanh", torch.atanh)
csr_ceil = _each(CSRTensor, "csr_ceil", torch.ceil)
csr_cos = _each(CSRTensor, "csr_cos", torch.cos)
csr_cosh = _each(CSRTensor, "csr_cosh", torch.cosh)
csr_exp = _each(CSRTensor, "csr_exp", torch.exp)
csr_expm1 = _each(CSRTensor, "csr_expm1", torch.expm1)
csr_floor = _each(CSRTensor, "csr_floor", torch.floor)
csr_inv = _each(CSRTensor, "csr_inv", torch.reciprocal)
csr_isfinite = _each(CSRTensor, "csr_isfinite", torch.isfinite)
csr_isinf = _each(CSRTensor, "csr_isinf", torch.isinf)
csr_isnan = _each(CSRTensor, "csr_isnan", torch.isnan)
csr_log = _each(CSRTensor, "csr_log", torch.log)
csr_log1p = _each(CSRTensor, "csr_log1p", torch.log1p)
csr_neg = _each(CSRTensor, "csr_neg", torch.neg)
csr_relu = _each(CSRTensor, "csr_relu", torch.relu)
csr_relu6 = _each(CSRTensor, "csr_relu6", F.relu6)
csr_round = _each(CSRTensor, "csr_round", torch.round)
csr_sigmoid = _each(CSRTensor, "csr_sigmoid", torch.sigmoid)
csr_sin = _each(CSRTensor, "csr_sin", torch.sin)
csr_sinh = _each(CSRTensor, "csr_sinh", torch.sinh)
csr_softsign = _each(CSRTensor, "csr_softsign", F.softsign)
csr_sqrt = _each(CSRTensor, "csr_sqrt", torch.sqrt)
csr_square = _each(CSRTensor, "csr_square", torch.square)
csr_tan = _each(CSRTensor, "csr_tan", torch.tan)
csr_tanh = _each(CSRTensor, "csr_tanh", torch.tanh)


@public("ops")
def coo_add(x1: COOTensor, x2: COOTensor, thresh: Tensor) -> COOTensor:
    """The sum of two sparse tensors; elements below a threshold are left out."""
    return x1.add(x2, thresh)


@public("ops")
def coo_concat(sp_input: Any, concat_dim: int = 0) -> COOTensor:
    """Sparse tensors one after the other along an axis."""
    parts = list(sp_input)
    if len(parts) < 2:
        raise ArgumentValueError(f"For 'coo_concat', at least two tensors are needed, but got {len(parts)}.")
    axis = concat_dim % parts[0].ndim
    places, offset = [], 0
    for part in parts:
        moved = part.indices._torch.clone()
        moved[:, axis] += offset
        places.append(moved)
        offset += part.shape[axis]
    shape = tuple(offset if each == axis else length for each, length in enumerate(parts[0].shape))
    values = torch.cat([part.values._torch for part in parts])
    return COOTensor(wrap(torch.cat(places)), wrap(values), shape).coalesce()


@public("ops")
def csr_add(a: CSRTensor, b: CSRTensor, alpha: Tensor, beta: Tensor) -> CSRTensor:
    """alpha * a + beta * b."""
    return a.add(b, alpha, beta)


@public("ops")
def csr_mul(x: CSRTensor, y: Any) -> CSRTensor:
    """Each element that is held times that of a dense tensor, which broadcasts."""
    return x * y


@public("ops")
def csr_div(x: CSRTensor, y: Any) -> CSRTensor:
    """Each element that is held divided by that of a dense tensor, which broadcasts."""
    return x / y


@public("ops")
def csr_mv(csr_tensor: CSRTensor, dense: Tensor) -> Tensor:
    """The product with a vector, given as one column."""
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
    """The product with a matrix, dense or sparse; either side transposed first."""
    left = _turned(a, adjoint_a) if trans_a or adjoint_a else a
    if isinstance(b, CSRTensor):
        return left.mm(_turned(b, adjoint_b) if trans_b or adjoint_b else b)
    right = b._torch.mH if adjoint_b else b._torch.mT if trans_b else b._torch
    return left.mm(wrap(right))


def _turned(x: CSRTensor, conjugate: bool) -> CSRTensor:
    coo = x.to_coo()
    values = coo.values._torch.conj() if conjugate else coo.values._torch
    return COOTensor(wrap(coo.indices._torch.flip(1)), wrap(values), (x.shape[1], x.shape[0])).to_csr()


@public("ops")
def csr_reduce_sum(csr_tensor: CSRTensor, axis: int) -> Tensor:
    """The sums of rows or columns."""
    return csr_tensor.sum(axis)


@public("ops")
def csr_softmax(logits: CSRTensor, dtype: Any) -> CSRTensor:
    """The softmax of each row, over the elements that are held."""
    values, rows = logits.astype(dtype).values._torch, logits.rows()
    top = values.new_full((logits.shape[0],), float("-inf")).scatter_reduce(0, rows, values, "amax")
    made = torch.exp(values - top[rows])
    return logits.with_values(wrap(made / values.new_zeros(logits.shape[0]).index_add(0, rows, made)[rows]))


@public("ops")
def csr_to_coo(tensor: CSRTensor) -> COOTensor:
    """The same by coordinates."""
    return tensor.to_coo()


@public("ops")
def csr_to_dense(csr_tensor: CSRTensor) -> Tensor:
    """All elements."""
    return csr_tensor.to_dense()


@public("ops", "Tensor:to_coo")
def dense_to_sparse_coo(tensor: Tensor) -> COOTensor:
    """The elements of a matrix that are not zero, by coordinates."""
    places = torch.nonzero(tensor._torch)
    return COOTensor(wrap(places), wrap(tensor._torch[tuple(places.t())]), tuple(tensor.shape))


@public("ops", "Tensor:to_csr")
def dense_to_sparse_csr(tensor: Tensor) -> CSRTensor:
    """The elements of a matrix that are not zero, by rows."""
    coo = dense_to_sparse_coo(tensor)
    return COOTensor(wrap(coo.indices._torch.int()), coo.values, coo.shape).to_csr()


@public("ops")
def make_coo_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> COOTensor:
    """A sparse tensor by coordinates."""
    return COOTensor(indices, values, dense_shape)


@public("ops", "ops:make_sparse_tensor")
def make_sparse_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> COOTensor:
    """A sparse tensor by coordinates."""
    return COOTensor(indices, values, dense_shape)


@public("ops")
def make_csr_tensor(indptr: Tensor, indices: Tensor, values: Tensor, dense_shape: Any) -> CSRTensor:
    """A sparse tensor by rows."""
    return CSRTensor(indptr, indices, values, dense_shape)


@public("ops")
def make_row_tensor(indices: Tensor, values: Tensor, dense_shape: Any) -> RowTensor:
    """Some rows of a large tensor."""
    return RowTensor(indices, values, dense_shape)


@public("ops", "ops:csr_tensor_get_values")
def coo_tensor_get_values(x: Any) -> Tensor:
    """The elements that are held."""
    return x.values


@public("ops", "ops:csr_tensor_get_indices")
def coo_tensor_get_indices(x: Any) -> Tensor:
    """Where the elements are that are held."""
    return x.indices


@public("ops", "ops:csr_tensor_get_dense_shape")
def coo_tensor_get_dense_shape(x: Any) -> tuple[int, ...]:
    """The shape of the whole."""
    return x.shape


@public("ops")
def csr_tensor_get_indptr(x: CSRTensor) -> Tensor:
    """Where each row begins."""
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

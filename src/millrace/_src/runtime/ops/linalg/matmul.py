"""Matrix products: matmul, bmm, addmm, dot, einsum, kron, cross."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.arguments import check_axes
from millrace._src.runtime.ops.declare.dtype_rules import SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "BatchMatMul",
    "Cross",
    "Einsum",
    "Ger",
    "MatMul",
    "addbmm",
    "addmm",
    "addmm_",
    "addmv",
    "addr",
    "baddbmm",
    "baddbmm_ext",
    "batch_dot",
    "batch_mat_mul",
    "bmm",
    "bmm_mint",
    "cross",
    "dot",
    "dot_mint",
    "einsum",
    "einsum_of",
    "ger",
    "inner",
    "kron",
    "mat_mul",
    "matmul",
    "mm",
    "mv",
    "mv_mint",
    "outer",
    "tensor_dot",
    "vecdot",
]


def _multiply_matrices(multiply: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    """Matrix product. CUDA has no kernel for integers, so those are multiplied on the host."""
    if a.is_cuda and not (a.is_floating_point() or a.is_complex()):
        return multiply(a.cpu(), b.cpu()).to(a.device)
    return multiply(a, b)


@op("ops", "mint", "Tensor", dtype=SAME)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of matrices, batches of matrices and vectors; batch axes are broadcast."""
    return _multiply_matrices(torch.matmul, input, other)


def _multiply_batches(name: str, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool) -> Tensor:
    """Product of two batches of the same shape, either operand transposed."""
    if a.ndim < 2 or b.ndim < 2 or a.shape[:-2] != b.shape[:-2]:
        raise ArgumentValueError(
            f"For '{name}', the inputs must be matrices or stacks of them of one shape, but got {tuple(a.shape)} and "
            f"{tuple(b.shape)}; ops.matmul broadcasts."
        )
    return _multiply_matrices(torch.matmul, a.mT if transpose_a else a, b.mT if transpose_b else b)


@op(dtype=SAME)
def mat_mul(x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Matrix product, either operand optionally transposed."""
    if x.ndim != 2 or y.ndim != 2:
        raise ArgumentValueError(
            f"For 'MatMul', the inputs must be matrices, but got shapes {tuple(x.shape)} and {tuple(y.shape)}; "
            "ops.BatchMatMul and ops.matmul take stacks."
        )
    return _multiply_matrices(torch.mm, x.t() if transpose_a else x, y.t() if transpose_b else y)


@op(dtype=SAME)
def batch_mat_mul(x: Tensor, y: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Tensor:
    """Batch matrix product, either operand optionally transposed."""
    return _multiply_batches("BatchMatMul", x, y, transpose_a, transpose_b)


MatMul = primitive("MatMul", mat_mul)
BatchMatMul = primitive("BatchMatMul", batch_mat_mul)


@op("ops", "Tensor", dtype=SAME)
def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
    """Batch matrix product."""
    return _multiply_batches("bmm", input_x, mat2, False, False)


@op("mint:bmm", dtype=SAME)
def bmm_mint(input: Tensor, mat2: Tensor) -> Tensor:
    """Batch matrix product."""
    return _multiply_matrices(torch.bmm, input, mat2)


@op("ops", "mint", "Tensor", dtype=SAME)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Matrix product of two matrices."""
    return _multiply_matrices(torch.mm, input, mat2)


@op("ops", dtype=SAME)
def mv(mat: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector."""
    return torch.mv(mat, vec)


@op("mint:mv", dtype=SAME)
def mv_mint(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector."""
    return torch.mv(input, vec)


def _add_product(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * input + alpha * product; `input` is broadcast."""
    return torch.add(input if beta == 1 else input * beta, product if alpha == 1 else product * alpha)


@op("ops", "mint", "Tensor", dtype=SAME)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    return torch.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@op("Tensor", dtype=SAME, differentiable=False)
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), in place."""
    return input.addmm_(mat1, mat2, beta=beta, alpha=alpha)


@op("ops", "mint", "Tensor", dtype=SAME)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * sum of (batch1[i] @ batch2[i])."""
    return _add_product(input, torch.bmm(batch1, batch2).sum(0), beta, alpha)


@op("ops", "mint", "Tensor", dtype=SAME)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), per batch entry."""
    return torch.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


@op("ops:baddbmm_ext", dtype=SAME)
def baddbmm_ext(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), per batch entry."""
    return torch.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


@op("ops", "mint", "Tensor", dtype=SAME)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    return _add_product(input, torch.mv(mat, vec), beta, alpha)


@op("ops", "Tensor", dtype=SAME)
def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * x + alpha * outer product of two vectors."""
    return _add_product(x, torch.outer(vec1, vec2), beta, alpha)


@op("ops", dtype=SAME)
def dot(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last axis of the first operand and the second-to-last axis of the second."""
    if input.ndim < 2 or other.ndim < 2:
        raise ArgumentValueError(
            f"For 'dot', the inputs must have at least 2 dimensions, but got shapes {tuple(input.shape)} and "
            f"{tuple(other.shape)}; ops.tensor_dot takes vectors."
        )
    return torch.tensordot(input, other, dims=([-1], [-2]))


@op("mint:dot", "Tensor:dot", dtype=SAME)
def dot_mint(input: Tensor, other: Tensor) -> Tensor:
    """Dot product of two vectors."""
    return torch.dot(input, other)


@op("ops", dtype=SAME)
def tensor_dot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    """Tensor contraction over axes of both operands: a number of last and first axes, or a pair of lists."""
    if isinstance(axes, int):
        if axes < 0:
            raise ArgumentValueError(f"For 'tensor_dot', 'axes' must be at least 0, but got {axes}.")
        return torch.tensordot(x1, x2, dims=axes)
    if not isinstance(axes, (tuple, list)):
        raise ArgumentTypeError(
            f"For 'tensor_dot', 'axes' must be an int, a tuple or a list, but got {axes!r}."
        )
    if len(axes) != 2:
        raise ArgumentValueError(f"For 'tensor_dot', 'axes' must hold two entries, but got {axes!r}.")
    first, second = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
    if len(first) != len(second):
        raise ArgumentValueError(f"For 'tensor_dot', both sides need as many axes, but got {axes!r}.")
    return torch.tensordot(x1, x2, dims=(first, second))


@op("ops", dtype=SAME)
def batch_dot(x1: Tensor, x2: Tensor, axes: Any = None) -> Tensor:
    """Per batch entry, contraction of one axis of each operand."""
    if x1.ndim < 2 or x2.ndim < 2:
        raise ArgumentValueError(
            f"For 'batch_dot', the inputs must have at least 2 dimensions, but got shapes {tuple(x1.shape)} and "
            f"{tuple(x2.shape)}."
        )
    if axes is None:
        axes = (x1.ndim - 1, x2.ndim - 2 if x2.ndim > 2 else 1)
    elif isinstance(axes, int):
        axes = (axes, axes)
    one, two = (axis % side.ndim for axis, side in zip(axes, (x1, x2)))
    if not one or not two:
        raise ArgumentValueError(
            f"For 'batch_dot', the axes must not be that of the batch, but got {axes!r}."
        )
    left, right = x1.movedim(one, -1), x2.movedim(two, 1)
    product = torch.bmm(
        left.flatten(1, -2) if x1.ndim > 2 else left.unsqueeze(1),
        right.flatten(2) if x2.ndim > 2 else right.unsqueeze(2),
    )
    if x1.ndim == x2.ndim == 2:
        return product.squeeze(-1)
    return product.reshape(x1.shape[0], *left.shape[1:-1], *right.shape[2:])


@op("ops", "Tensor", dtype=SAME)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Inner product over the last axes of both operands; with a scalar, elementwise product."""
    return torch.inner(input, other)


@op("ops", "mint", "Tensor", dtype=SAME)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Outer product of two vectors."""
    return torch.outer(input, vec2)


@op("ops", "Tensor", dtype=SAME)
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Outer product of two vectors."""
    return torch.outer(input, vec2)


Ger = primitive("Ger", ger)


@op("ops", dtype=SAME)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product."""
    return torch.kron(input.contiguous(), other.contiguous())  # its backward requires contiguous tensors


@op("ops", "mint", "ops:einsum_ext", dtype=SAME)
def einsum(equation: str, *operands: Any) -> Tensor:
    """Einstein summation: ``"ij,jk->ik"`` is the matrix product."""
    tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    return torch.einsum(equation, *tensors)


@op(dtype=UNCHECKED)
def einsum_of(equation: str, inputs: Any) -> Tensor:
    """Einstein summation."""
    return torch.einsum(equation, *inputs)


Einsum = primitive("Einsum", einsum_of, init=("equation",))


@op("ops", "mint", "Tensor", dtype=SAME)
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross product along an axis of length 3; by default the first such axis."""
    if dim is None or dim == -65530:
        lengths = list(input.shape)
        if 3 not in lengths:
            raise ArgumentValueError(f"For 'cross', no axis of length 3 in the shape {tuple(lengths)}.")
        dim = lengths.index(3)
    return torch.linalg.cross(input, other, dim=dim)


Cross = primitive("Cross", cross, dim=-65530)


@op("ops", dtype=SAME)
def vecdot(x: Tensor, y: Tensor, *, axis: int = -1) -> Tensor:
    """Dot product of vectors along an axis; the first operand is conjugated."""
    check_axes((axis,), x.ndim)
    return torch.linalg.vecdot(x, y, dim=axis)

"""Matrix decompositions, inverses and linear solvers: qr, svd, cholesky, eig, lu_solve, lstsq."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.runtime.ops.declare.arguments import check_axes
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS_COMPLEX, SAME, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "singular_values",
    "Cholesky",
    "CholeskyInverse",
    "CholeskySolve",
    "Eig",
    "Geqrf",
    "LogMatrixDeterminant",
    "Lstsq",
    "LuSolve",
    "LuUnpack",
    "MatrixDeterminant",
    "MatrixExp",
    "MatrixInverse",
    "MatrixLogarithm",
    "MatrixPower",
    "MatrixSolve",
    "MatrixSolveLs",
    "MatrixTriangularSolve",
    "Orgqr",
    "Ormqr",
    "Qr",
    "Svd",
    "Trace",
    "TridiagonalMatMul",
    "cholesky",
    "cholesky_inverse",
    "cholesky_solve",
    "det",
    "eig",
    "eig_all",
    "eigvals",
    "geqrf",
    "inverse",
    "logdet",
    "lstsq",
    "lstsq_damped",
    "lu_solve",
    "lu_unpack",
    "matrix_exp",
    "matrix_inverse",
    "matrix_logarithm",
    "matrix_power",
    "matrix_solve",
    "matrix_solve_ls",
    "matrix_triangular_solve",
    "orgqr",
    "ormqr",
    "pinv",
    "qr",
    "qr_full",
    "qr_method",
    "qr_mint",
    "slogdet",
    "svd",
    "svd_all",
    "trace",
    "trace_method",
    "triangular_solve",
    "tridiagonal_mat_mul",
]


def singular_values(matrix: Tensor) -> Tensor:
    """Singular values, computed together with the vectors. Without them PyTorch uses another algorithm, except while a
    step is captured, and the last bits would differ.
    """
    return torch.linalg.svd(matrix, full_matrices=False).S


@op("ops", "mint", "Tensor", "mint.linalg:inv", accepts=FLOATS_COMPLEX, dtype=SAME)
def inverse(input: Tensor) -> Tensor:
    """Inverse of matrices."""
    return torch.linalg.inv(input)


@op(accepts=FLOATS_COMPLEX, dtype=SAME)
def matrix_inverse(x: Tensor, adjoint: bool = False) -> Tensor:
    """Inverse of matrices, or of their conjugate transposes."""
    return torch.linalg.inv(x.mH if adjoint else x)


MatrixInverse = primitive("MatrixInverse", matrix_inverse)


@op(
    "ops", "Tensor", "ops:matrix_determinant", "Tensor:matrix_determinant", accepts=FLOATS_COMPLEX, dtype=SAME
)
def det(input: Tensor) -> Tensor:
    """Determinant of matrices."""
    return torch.linalg.det(input)


MatrixDeterminant = primitive("MatrixDeterminant", det)


@op("ops", "Tensor", accepts=FLOATS_COMPLEX, dtype=SAME)
def logdet(input: Tensor) -> Tensor:
    """Logarithm of the determinant; NaN if it is negative."""
    return torch.logdet(input)


@op(
    "ops", "Tensor", "ops:log_matrix_determinant", "Tensor:log_matrix_determinant",
    accepts=FLOATS_COMPLEX, dtype=UNCHECKED,
)  # fmt: skip
def slogdet(input: Tensor) -> Any:
    """Sign and logarithm of the absolute value of the determinant."""
    return torch.linalg.slogdet(input)


LogMatrixDeterminant = primitive("LogMatrixDeterminant", slogdet)


@op("ops", "Tensor", dtype=SAME)
def cholesky(input_x: Tensor, upper: bool = False) -> Tensor:
    """Cholesky factor of symmetric positive-definite matrices."""
    half = input_x.tril()  # the upper triangle is not read, so it gets no gradient
    return torch.linalg.cholesky(half + half.tril(-1).mH, upper=upper)


@op("ops", "Tensor", dtype=SAME)
def cholesky_inverse(input_x: Tensor, upper: bool = False) -> Tensor:
    """Inverse of matrices given by their Cholesky factors."""
    return torch.cholesky_inverse(input_x.triu() if upper else input_x.tril(), upper)


@op("ops", "Tensor", dtype=SAME)
def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
    """Solution of A x = input, where `input2` is the Cholesky factor of A."""
    return torch.cholesky_solve(input, input2.triu() if upper else input2.tril(), upper)


Cholesky = primitive("Cholesky", cholesky)
CholeskyInverse = primitive("CholeskyInverse", cholesky_inverse)
CholeskySolve = primitive("CholeskySolve", cholesky_solve)


def _qr(matrix: Tensor, complete: bool) -> Any:
    return torch.linalg.qr(matrix, "complete" if complete else "reduced")


@op("ops", dtype=UNCHECKED)
def qr(input: Tensor, mode: str = "reduced") -> Any:
    """QR decomposition: the orthogonal and the upper triangular factor."""
    if mode not in ("reduced", "complete"):
        raise ArgumentTypeError(f"For 'qr', 'mode' must be 'reduced' or 'complete', but got {mode!r}.")
    return _qr(input, mode == "complete")


@op("mint.linalg:qr", dtype=UNCHECKED)
def qr_mint(A: Tensor, mode: str = "reduced") -> Any:
    """QR decomposition: the orthogonal and the upper triangular factor; with mode "r" only the second."""
    return torch.linalg.qr(A, mode)


@op("Tensor:qr", dtype=UNCHECKED)
def qr_method(input: Tensor, some: bool = True) -> Any:
    """QR decomposition: the orthogonal and the upper triangular factor; complete if `some` is False."""
    return _qr(input, not some)


@op(dtype=UNCHECKED)
def qr_full(x: Tensor, full_matrices: bool = False) -> Any:
    """QR decomposition: the orthogonal and the upper triangular factor."""
    return _qr(x, full_matrices)


Qr = primitive("Qr", qr_full)


@op("ops", "Tensor", dtype=UNCHECKED)
def svd(input: Tensor, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular value decomposition: singular values, largest first, and the left and right singular vectors."""
    if not compute_uv:
        return singular_values(input)
    u, s, vh = torch.linalg.svd(input, full_matrices)
    return s, u, vh.mH


@op(dtype=UNCHECKED)
def svd_all(input: Tensor, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """Singular values and vectors; the vectors are zeros unless `compute_uv` is set."""
    if compute_uv:
        return svd.raw(input, full_matrices)
    values = singular_values(input)
    return values, torch.zeros_like(values[..., :1]), torch.zeros_like(values[..., :1])


Svd = primitive("Svd", svd_all)


@op("ops", dtype=UNCHECKED)
def eig(A: Tensor) -> Any:
    """Complex eigenvalues and eigenvectors."""
    return torch.linalg.eig(A)


@op("ops", "Tensor", dtype=UNCHECKED)
def eigvals(A: Tensor) -> Tensor:
    """Complex eigenvalues."""
    return torch.linalg.eigvals(A)


@op(dtype=UNCHECKED)
def eig_all(x: Tensor, compute_v: bool = False) -> Any:
    """Complex eigenvalues, and the eigenvectors if `compute_v` is set."""
    if compute_v:
        return torch.linalg.eig(x)
    values = torch.linalg.eigvals(x)
    return values, values.new_zeros(())


Eig = primitive("Eig", eig_all)


def _ridge_solve(matrix: Tensor, rhs: Tensor, price: Any) -> Tensor:
    """Ridge regression: the x that minimizes |matrix @ x - rhs|^2 + price |x|^2."""
    eye = torch.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return torch.linalg.solve(matrix.mH @ matrix + price * eye, matrix.mH @ rhs)


@op("ops", "Tensor", dtype=SAME)
def lstsq(input: Tensor, A: Tensor) -> Tensor:
    """Least-squares solution of input @ x = A."""
    right = A.unsqueeze(-1) if A.ndim == 1 else A
    return torch.linalg.pinv(input) @ right


@op(dtype=SAME)
def lstsq_damped(matrix: Tensor, rhs: Tensor, fast: bool = True, l2_regularizer: float = 0.0) -> Tensor:
    """Least-squares solution of matrix @ x = rhs with L2 regularization."""
    return _ridge_solve(matrix, rhs, l2_regularizer) if fast and l2_regularizer else lstsq.raw(matrix, rhs)


Lstsq = primitive("Lstsq", lstsq_damped)


@op("ops", "Tensor", dtype=SAME)
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Solution of A x = b, where A is given by its LU factorization and pivots."""
    return torch.linalg.lu_solve(LU_data, LU_pivots, b)


@op("ops", dtype=UNCHECKED)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> Any:
    """Permutation and triangular factors of a packed LU factorization."""
    return torch.lu_unpack(LU_data, LU_pivots, unpack_data, unpack_pivots)


LuSolve = primitive("LuSolve", lu_solve)
LuUnpack = primitive("LuUnpack", lu_unpack)


@op("ops", "Tensor", dtype=UNCHECKED, differentiable=False)
def geqrf(input: Tensor) -> Any:
    """Packed QR decomposition: Householder reflectors below the diagonal, and their factors."""
    return torch.geqrf(input)


@op("ops", "Tensor", dtype=SAME)
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """First columns of the product of Householder reflectors."""
    return torch.linalg.householder_product(input, input2)


@op("ops", "Tensor", dtype=SAME)
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Product of Householder reflectors with a matrix, from the left or the right, optionally transposed."""
    return torch.ormqr(input, tau, other, left, transpose)


Geqrf = primitive("Geqrf", geqrf)
Orgqr = primitive("Orgqr", orgqr)
Ormqr = primitive("Ormqr", ormqr)


@op("ops", accepts=FLOATS_COMPLEX, dtype=SAME)
def pinv(x: Tensor, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Tensor:
    """Pseudo-inverse of matrices; singular values below the tolerance count as zero."""
    return torch.linalg.pinv(x, atol=atol, rtol=rtol, hermitian=hermitian)


@op("ops", dtype=SAME)
def matrix_exp(input: Tensor) -> Tensor:
    """Matrix exponential."""
    return torch.linalg.matrix_exp(input)


MatrixExp = primitive("MatrixExp", matrix_exp)


@op(dtype=SAME, differentiable=False)
def matrix_logarithm(x: Tensor) -> Tensor:
    """Matrix logarithm of complex matrices, by eigendecomposition."""
    if not x.is_complex():
        raise ArgumentTypeError(f"For 'MatrixLogarithm', the input must be complex, but got {x.dtype}.")
    values, vectors = torch.linalg.eig(x)
    return torch.linalg.solve(vectors.mT, (vectors * torch.log(values).unsqueeze(-2)).mT).mT


MatrixLogarithm = primitive("MatrixLogarithm", matrix_logarithm)


@op("ops", "Tensor", dtype=SAME)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Integer power of matrices; negative powers are powers of the inverse."""
    return torch.linalg.matrix_power(input, n)


MatrixPower = primitive("MatrixPower", matrix_power)


@op("ops", dtype=SAME)
def matrix_solve(matrix: Tensor, rhs: Tensor, adjoint: bool = False) -> Tensor:
    """Solution of matrix @ x = rhs."""
    return torch.linalg.solve(matrix.mH if adjoint else matrix, rhs)


MatrixSolve = primitive("MatrixSolve", matrix_solve)


@op(dtype=SAME)
def matrix_solve_ls(matrix: Tensor, rhs: Tensor, l2_regularizer: Tensor, fast: bool = True) -> Tensor:
    """Least-squares solution of matrix @ x = rhs with L2 regularization."""
    return (
        _ridge_solve(matrix, rhs, l2_regularizer.to(matrix.dtype))
        if fast
        else torch.linalg.pinv(matrix) @ rhs
    )


MatrixSolveLs = primitive("MatrixSolveLs", matrix_solve_ls)


@op(dtype=SAME)
def matrix_triangular_solve(matrix: Tensor, rhs: Tensor, lower: bool = True, adjoint: bool = False) -> Tensor:
    """Solution of a linear system with triangular matrices; the other triangle is not read."""
    if adjoint:
        return torch.linalg.solve_triangular(matrix.mH, rhs, upper=lower)
    return torch.linalg.solve_triangular(matrix, rhs, upper=not lower)


MatrixTriangularSolve = primitive("MatrixTriangularSolve", matrix_triangular_solve)


@op("mint", "Tensor", dtype=UNCHECKED)
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """Solution of a linear system with triangular matrices, and the matrices."""
    matrix = A.mT if transpose else A
    solution = torch.linalg.solve_triangular(matrix, b, upper=upper != transpose, unitriangular=unitriangular)
    return solution, A.broadcast_to(solution.shape[:-2] + A.shape[-2:]).clone()


@op("ops", "mint", dtype=SAME)
def trace(input: Tensor) -> Tensor:
    """Sum of the diagonal of a matrix."""
    if input.ndim != 2:
        raise OperationError(f"For 'trace', the input must be a matrix, but got shape {tuple(input.shape)}.")
    return torch.diagonal(input).sum().to(input.dtype)


Trace = primitive("Trace", trace)


@op("Tensor:trace", dtype=SAME)
def trace_method(input: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    """Sum of the diagonal of two axes."""
    check_axes((axis1, axis2), input.ndim)
    return torch.diagonal(input, offset, axis1, axis2).sum(-1).to(dtype or input.dtype)


@op(dtype=SAME)
def tridiagonal_mat_mul(superdiag: Tensor, maindiag: Tensor, subdiag: Tensor, rhs: Tensor) -> Tensor:
    """Product of tridiagonal matrices, given by three diagonals, with matrices."""
    up, down = torch.roll(rhs, -1, -2).clone(), torch.roll(rhs, 1, -2).clone()
    up[..., -1, :], down[..., 0, :] = 0, 0
    return superdiag.mT * up + maindiag.mT * rhs + subdiag.mT * down


TridiagonalMatMul = primitive("TridiagonalMatMul", tridiagonal_mat_mul)

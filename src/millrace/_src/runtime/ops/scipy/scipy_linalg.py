"""SciPy linear algebra: cholesky, cho_solve, eigh, lu, lstsq, solve_triangular."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import FLOAT, UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = [
    "block_diag_scipy",
    "cho_factor",
    "cho_solve",
    "cholesky_scipy",
    "eigh",
    "inv_scipy",
    "lstsq_scipy",
    "lu",
    "lu_factor",
    "solve_triangular",
]


def _to_floating(name: str, matrix: Any) -> Tensor:
    """Matrix in a floating dtype: integers become float64, as in SciPy."""
    if not isinstance(matrix, Tensor):
        raise ArgumentTypeError(f"For '{name}', a Tensor is needed, but got {matrix!r}.")
    return matrix if matrix.is_floating_point() or matrix.is_complex() else matrix.double()


@op("scipy.linalg:block_diag", dtype=UNCHECKED)
def block_diag_scipy(*arrs: Tensor) -> Tensor:
    """Block-diagonal matrix."""
    return torch.block_diag(*arrs)


@op("scipy.linalg:inv", dtype=UNCHECKED)
def inv_scipy(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """Inverse of a matrix."""
    return torch.linalg.inv(_to_floating("inv", a))


@op("scipy.linalg:cholesky", dtype=UNCHECKED, differentiable=False)
def cholesky_scipy(
    a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Tensor:
    """Cholesky factor of a symmetric positive-definite matrix."""
    return torch.linalg.cholesky(_to_floating("cholesky", a), upper=not lower)


@op("scipy.linalg", dtype=UNCHECKED, differentiable=False)
def cho_factor(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Cholesky factor of a symmetric positive-definite matrix, and whether it is the lower one, for `cho_solve`."""
    return torch.linalg.cholesky(_to_floating("cho_factor", a), upper=not lower), lower


def _to_columns(matrix: Tensor, right: Tensor) -> tuple[Tensor, bool]:
    """Right-hand sides as columns, and whether there was only one vector."""
    single = right.ndim == matrix.ndim - 1
    return (right.unsqueeze(-1), True) if single else (right, False)


@op("scipy.linalg", dtype=UNCHECKED, differentiable=False)
def cho_solve(c_and_lower: Any, b: Tensor, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """Solution of A x = b, where A is given by `cho_factor`."""
    factor, lower = c_and_lower
    right, single = _to_columns(factor, b)
    solution = torch.cholesky_solve(right, factor, upper=not lower)
    return solution.squeeze(-1) if single else solution


@op("scipy.linalg", dtype=UNCHECKED, differentiable=False)
def eigh(
    a: Tensor,
    b: Tensor | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: Any = None,
    type: int = 1,
    check_finite: bool = True,
) -> Any:
    """Eigenvalues of a symmetric matrix, in ascending order, and its eigenvectors."""
    if b is not None or eigvals is not None:
        raise ArgumentValueError("For 'eigh', only the plain problem is there: leave 'b' and 'eigvals' out.")
    side = "L" if lower else "U"
    matrix = _to_floating("eigh", a)
    # without vectors PyTorch uses another algorithm, except in a capture: the last bits would differ
    decomposition = torch.linalg.eigh(matrix, side)
    return decomposition[0] if eigvals_only else decomposition


@op("scipy.linalg", dtype=UNCHECKED)
def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Packed LU factorization of a matrix, and its pivots, counted from 0."""
    packed, pivots = torch.linalg.lu_factor(_to_floating("lu_factor", a))
    return packed, pivots - 1


@op("scipy.linalg", dtype=UNCHECKED)
def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """LU factorization: permutation and triangular factors; with `permute_l` the product of the first two."""
    p, low, up = torch.linalg.lu(_to_floating("lu", a))
    return (p @ low, up) if permute_l else (p.to(torch.int32), low, up)


@op("scipy.linalg:lstsq", dtype=UNCHECKED)
def lstsq_scipy(A: Tensor, B: Tensor, rcond: Any = None, driver: Any = None) -> Any:
    """Least-squares solution of A @ x = B; with empty residues, the rank, and empty singular values."""
    matrix = _to_floating("lstsq", A)
    right, single = _to_columns(matrix, B.to(matrix.dtype))
    solution = torch.linalg.pinv(matrix, rtol=rcond) @ right
    empty = matrix.new_zeros(0)
    return solution.squeeze(-1) if single else solution, empty, torch.linalg.matrix_rank(matrix), empty


@op("scipy.linalg", dtype=FLOAT)
def solve_triangular(
    a: Tensor,
    b: Tensor,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: Any = None,
    check_finite: bool = True,
) -> Tensor:
    """Solution of a x = b with a triangular matrix; with `trans`, of its transpose or conjugate transpose."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ArgumentValueError(
            f"For 'solve_triangular', 'trans' must be 0, 1, 2, 'N', 'T' or 'C', but got {trans!r}."
        )
    matrix, is_transposed = a, trans not in (0, "N")
    if is_transposed:
        matrix = a.mT if trans in (1, "T") else a.mH
    right, single = _to_columns(a, b)
    solution = torch.linalg.solve_triangular(
        matrix, right, upper=lower == is_transposed, unitriangular=unit_diagonal
    )
    return solution.squeeze(-1) if single else solution

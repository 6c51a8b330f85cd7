"""Linear algebra with SciPy's names and arguments."""

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


def _real(name: str, matrix: Any) -> Tensor:
    """The matrix in a floating type: whole numbers become float64, as SciPy does."""
    if not isinstance(matrix, Tensor):
        raise ArgumentTypeError(f"For '{name}', a Tensor is needed, but got {matrix!r}.")
    return matrix if matrix.is_floating_point() or matrix.is_complex() else matrix.double()


@op("scipy.linalg:block_diag", dtype=UNCHECKED)
def block_diag_scipy(*arrs: Tensor) -> Tensor:
    """Matrices along the diagonal of one, zeros around them."""
    return torch.block_diag(*arrs)


@op("scipy.linalg:inv", dtype=UNCHECKED)
def inv_scipy(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Tensor:
    """The inverse of a matrix."""
    return torch.linalg.inv(_real("inv", a))


@op("scipy.linalg:cholesky", dtype=UNCHECKED, differentiable=False)
def cholesky_scipy(
    a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Tensor:
    """The triangular factor of a symmetric positive matrix."""
    return torch.linalg.cholesky(_real("cholesky", a), upper=not lower)


@op("scipy.linalg", dtype=UNCHECKED, differentiable=False)
def cho_factor(a: Tensor, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The triangular factor of a symmetric positive matrix, and whether it is the lower one: for `cho_solve`."""
    return torch.linalg.cholesky(_real("cho_factor", a), upper=not lower), lower


def _columns(matrix: Tensor, right: Tensor) -> tuple[Tensor, bool]:
    """Right sides as columns, and whether there was one only."""
    single = right.ndim == matrix.ndim - 1
    return (right.unsqueeze(-1), True) if single else (right, False)


@op("scipy.linalg", dtype=UNCHECKED, differentiable=False)
def cho_solve(c_and_lower: Any, b: Tensor, overwrite_b: bool = False, check_finite: bool = True) -> Tensor:
    """The solution of A x = b, where A is given by what `cho_factor` made of it."""
    factor, lower = c_and_lower
    right, single = _columns(factor, b)
    made = torch.cholesky_solve(right, factor, upper=not lower)
    return made.squeeze(-1) if single else made


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
    """The eigenvalues of a symmetric matrix, smallest first, and its eigenvectors."""
    if b is not None or eigvals is not None:
        raise ArgumentValueError("For 'eigh', only the plain problem is there: leave 'b' and 'eigvals' out.")
    side = "L" if lower else "U"
    matrix = _real("eigh", a)
    # alone PyTorch computes the values in another way, but not while a step is recorded: the last bits would differ
    made = torch.linalg.eigh(matrix, side)
    return made[0] if eigvals_only else made


@op("scipy.linalg", dtype=UNCHECKED)
def lu_factor(a: Tensor, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Both triangular factors of a matrix in one, and the row that each row was exchanged with, counted from 0."""
    packed, pivots = torch.linalg.lu_factor(_real("lu_factor", a))
    return packed, pivots - 1


@op("scipy.linalg", dtype=UNCHECKED)
def lu(a: Tensor, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The permutation and the triangular factors of a matrix; with `permute_l` the first two multiplied."""
    p, low, up = torch.linalg.lu(_real("lu", a))
    return (p @ low, up) if permute_l else (p.to(torch.int32), low, up)


@op("scipy.linalg:lstsq", dtype=UNCHECKED)
def lstsq_scipy(A: Tensor, B: Tensor, rcond: Any = None, driver: Any = None) -> Any:
    """The x for which A @ x comes nearest to B; with empty residues, the rank, and empty singular values."""
    matrix = _real("lstsq", A)
    right, single = _columns(matrix, B.to(matrix.dtype))
    made = torch.linalg.pinv(matrix, rtol=rcond) @ right
    empty = matrix.new_zeros(0)
    return made.squeeze(-1) if single else made, empty, torch.linalg.matrix_rank(matrix), empty


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
    """The solution of a x = b with a triangular matrix; with `trans`, of its transpose or conjugate transpose."""
    if trans not in (0, 1, 2, "N", "T", "C"):
        raise ArgumentValueError(
            f"For 'solve_triangular', 'trans' must be 0, 1, 2, 'N', 'T' or 'C', but got {trans!r}."
        )
    matrix, turned = a, trans not in (0, "N")
    if turned:
        matrix = a.mT if trans in (1, "T") else a.mH
    right, single = _columns(a, b)
    made = torch.linalg.solve_triangular(matrix, right, upper=lower == turned, unitriangular=unit_diagonal)
    return made.squeeze(-1) if single else made

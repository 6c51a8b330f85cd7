"""Linear algebra with SciPy's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.ops.scipy.scipy_linalg import (
    block_diag_scipy as block_diag,
    cho_factor,
    cho_solve,
    cholesky_scipy as cholesky,
    eigh,
    inv_scipy as inv,
    lstsq_scipy as lstsq,
    lu,
    lu_factor,
    solve_triangular,
)

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "eigh",
    "inv",
    "lstsq",
    "lu",
    "lu_factor",
    "solve_triangular",
]

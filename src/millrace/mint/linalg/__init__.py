"""Linear algebra with PyTorch's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.ops.linalg.decomposition import (
    inverse as inv,
    qr_mint as qr,
)
from millrace._src.runtime.ops.linalg.norm import (
    matrix_norm_mint as matrix_norm,
    norm,
    vector_norm_mint as vector_norm,
)

__all__ = [
    "inv",
    "matrix_norm",
    "norm",
    "qr",
    "vector_norm",
]

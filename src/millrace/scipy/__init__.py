"""Functions with SciPy's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations


from . import linalg, optimize

__all__ = [
    "linalg",
    "optimize",
]

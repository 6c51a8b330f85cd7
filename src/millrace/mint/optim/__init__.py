"""Optimizers with PyTorch's arguments and formulas."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.optim.optimizers import (
    Adam,
    AdamW,
    SGD,
)

__all__ = [
    "Adam",
    "AdamW",
    "SGD",
]

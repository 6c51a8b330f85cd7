"""Optimizers with PyTorch's arguments and formulas."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.optim.optimizers import (
    MintAdam as Adam,
    MintAdamW as AdamW,
)
from millrace._src.runtime.optim.sgd import (
    MintSGD as SGD,
)

__all__ = [
    "Adam",
    "AdamW",
    "SGD",
]

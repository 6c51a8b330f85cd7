"""What MindSpore calls experimental."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations


from . import optim

__all__ = [
    "optim",
]

"""Functions of neural networks with PyTorch's names and arguments."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.ops.activation import (
    gelu_mint as gelu,
    leaky_relu_mint as leaky_relu,
    relu,
    sigmoid,
    silu_mint as silu,
)
from millrace.ops.elementwise import (
    tanh,
)

__all__ = [
    "gelu",
    "leaky_relu",
    "relu",
    "sigmoid",
    "silu",
    "tanh",
]

"""Cells: nets and the layers that they are made of: ``from millrace import nn``."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.nn.activation import (
    ReLU,
    Sigmoid,
    Tanh,
    get_activation,
)
from millrace.nn.basic import (
    Dense,
)
from millrace.nn.cell import (
    Cell,
)
from millrace.nn.containers import (
    CellDict,
    CellList,
    SequentialCell,
)

__all__ = [
    "Cell",
    "CellDict",
    "CellList",
    "Dense",
    "ReLU",
    "SequentialCell",
    "Sigmoid",
    "Tanh",
    "get_activation",
]

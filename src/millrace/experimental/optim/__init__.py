"""Optimizers with PyTorch's arguments: groups of parameters are dicts."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.nn.param_groups.optim.adam import (
    Adam,
    AdamW,
    Adamax,
    NAdam,
    RAdam,
)
from millrace.nn.param_groups.optim.plain import (
    ASGD,
    Adadelta,
    Adagrad,
    Optimizer,
    RMSprop,
    Rprop,
    SGD,
)

from . import lr_scheduler

__all__ = [
    "ASGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
]

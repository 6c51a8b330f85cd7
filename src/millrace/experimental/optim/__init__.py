"""Optimizers with PyTorch's arguments: groups of parameters are dicts."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.optim.optim_adam import (
    ExperimentalAdam as Adam,
    ExperimentalAdamW as AdamW,
    Adamax,
    NAdam,
    RAdam,
)
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupOptimizer as Optimizer,
)
from millrace._src.runtime.optim.sgd import (
    ExperimentalASGD as ASGD,
    ExperimentalAdadelta as Adadelta,
    ExperimentalAdagrad as Adagrad,
    RMSprop,
    ExperimentalRprop as Rprop,
    ExperimentalSGD as SGD,
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

"""Optimizers with PyTorch's arguments: groups of parameters are dicts."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.optim.adadelta import (
    ExperimentalAdadelta as Adadelta,
)
from millrace._src.runtime.optim.adagrad import (
    ExperimentalAdagrad as Adagrad,
)
from millrace._src.runtime.optim.adamax import (
    Adamax,
)
from millrace._src.runtime.optim.asgd import (
    ExperimentalASGD as ASGD,
)
from millrace._src.runtime.optim.nadam import (
    NAdam,
)
from millrace._src.runtime.optim.optim_adam import (
    ExperimentalAdam as Adam,
    ExperimentalAdamW as AdamW,
)
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupOptimizer as Optimizer,
)
from millrace._src.runtime.optim.radam import (
    RAdam,
)
from millrace._src.runtime.optim.rmsprop import (
    RMSprop,
)
from millrace._src.runtime.optim.rprop import (
    ExperimentalRprop as Rprop,
)
from millrace._src.runtime.optim.sgd import (
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

"""Schedulers of the learning rates of an optimizer's groups."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.optim.lr_scheduler.reduce_on_plateau import (
    ReduceLROnPlateau,
)
from millrace._src.runtime.optim.lr_scheduler.scheduler import (
    LRScheduler,
)
from millrace._src.runtime.optim.lr_scheduler.sequential import (
    SequentialLR,
)
from millrace._src.runtime.optim.lr_scheduler.step_schedulers import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiStepLR,
    MultiplicativeLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

"""Schedulers of the learning rates of an optimizer's groups."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.nn.param_groups.schedules.base import (
    LRScheduler,
)
from millrace.nn.param_groups.schedules.joined import (
    ReduceLROnPlateau,
    SequentialLR,
)
from millrace.nn.param_groups.schedules.single import (
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

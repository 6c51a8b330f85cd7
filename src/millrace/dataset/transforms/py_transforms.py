"""The old module of Python transforms: the transforms of today."""

from __future__ import annotations

from millrace.data.transforms.compose import (
    Compose,
    RandomApply,
    RandomChoice,
    RandomOrder,
    not_random,
)
from millrace.data.transforms.generic import OneHot as OneHotOp
from millrace.data.transforms.operation import Operation as PyTensorOperation
from millrace.data.transforms.operation import Operation as TensorOperation

__all__ = [
    "Compose",
    "OneHotOp",
    "PyTensorOperation",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "TensorOperation",
    "not_random",
]

"""Deprecated module path of the Python transforms; re-exports the current transforms."""

from __future__ import annotations

from millrace._src.data.transforms.compose import (
    Compose,
    RandomApply,
    RandomChoice,
    RandomOrder,
    not_random,
)
from millrace._src.data.transforms.generic import OneHot as OneHotOp
from millrace._src.data.transforms.tensor_operation import TensorOperation as PyTensorOperation
from millrace._src.data.transforms.tensor_operation import TensorOperation as TensorOperation

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

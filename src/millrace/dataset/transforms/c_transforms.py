"""Deprecated module path of the array transforms; re-exports the current transforms."""

from __future__ import annotations

from enum import IntEnum

from millrace._src.data.transforms.compose import (
    Compose,
    RandomApply,
    RandomChoice,
)
from millrace._src.data.transforms.generic import (
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Plugin,
    Relational,
    Slice,
    TypeCast,
    Unique,
)
from millrace._src.data.transforms.tensor_operation import TensorOperation as TensorOperation

__all__ = [
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "IntEnum",
    "Mask",
    "OneHot",
    "PadEnd",
    "Plugin",
    "RandomApply",
    "RandomChoice",
    "Relational",
    "Slice",
    "TensorOperation",
    "TypeCast",
    "Unique",
]

"""Generic transforms, under MindSpore's names."""

from __future__ import annotations

from millrace._src.core.lazy import lazy
from millrace._src.data.transforms.compose import Compose, RandomApply, RandomChoice, RandomOrder, not_random
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

# MindSpore's own module has vision as an attribute, and scripts go that way.
__getattr__ = lazy(__name__, {"vision": "millrace.dataset.vision"})

__all__ = [
    "Compose",
    "Concatenate",
    "Duplicate",
    "Fill",
    "Mask",
    "OneHot",
    "PadEnd",
    "Plugin",
    "RandomApply",
    "RandomChoice",
    "RandomOrder",
    "Relational",
    "Slice",
    "TypeCast",
    "Unique",
    "not_random",
]

"""Millrace: a training-data engine with MindSpore's programming interface.

``import millrace.dataset as ds`` is where to begin.
"""

from __future__ import annotations

from millrace.core.dtype import (
    bfloat16,
    bool_,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from millrace.core.log import configure as _configure_log
from millrace.core.tensor import Tensor

__version__ = "0.1.0"

__all__ = [
    "Tensor",
    "__version__",
    "bfloat16",
    "bool_",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "string",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_configure_log()

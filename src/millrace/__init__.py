"""Millrace: a training-data engine and training runtime with MindSpore's programming interface.

``import millrace.dataset as ds`` is where data begin, ``from millrace import nn, ops`` is where nets do.
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
from millrace.core.tensor import when_needed as _when_needed

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


def _load_training_wing() -> None:
    """Give Tensor what only PyTorch can compute."""
    try:
        from millrace.ops.attach import attach
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        from millrace.core.optional import missing

        raise missing(error, "train", "computing with tensors") from error
    attach()


_when_needed(_load_training_wing)

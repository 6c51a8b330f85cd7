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
from millrace.core.lazy import lazy as _lazy
from millrace.core.log import configure as _configure_log
from millrace.core.seeds import get_seed, set_seed
from millrace.core.tensor import Tensor
from millrace.core.tensor import when_needed as _when_needed

__version__ = "0.1.0"

__all__ = [
    "COMPATIBLE",
    "GRAPH_MODE",
    "LAX",
    "PYNATIVE_MODE",
    "Parameter",
    "ParameterTuple",
    "STRICT",
    "Tensor",
    "__version__",
    "bfloat16",
    "bool_",
    "context",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "get_context",
    "get_seed",
    "grad",
    "int8",
    "int16",
    "int32",
    "int64",
    "mint",
    "nn",
    "ops",
    "set_context",
    "set_deterministic",
    "set_device",
    "set_seed",
    "string",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "value_and_grad",
    "JitConfig",
    "graph_report",
    "jit",
    "jit_class",
    "lazy_inline",
    "ms_function",
    "mutable",
    "no_inline",
    "get_grad",
    "jacfwd",
    "jacrev",
    "jvp",
    "recompute",
    "vjp",
    "vmap",
]

from_numpy = Tensor.from_numpy

_CONTEXT = "millrace.tensor.context"
# What needs the training wing is loaded when it is asked for: a script of the data wing never waits for PyTorch.
__getattr__ = _lazy(
    __name__,
    {
        **dict.fromkeys(("COMPATIBLE", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "STRICT"), _CONTEXT),
        **dict.fromkeys(("get_context", "set_context", "set_deterministic", "set_device"), _CONTEXT),
        "Parameter": "millrace.tensor.parameter",
        "ParameterTuple": "millrace.tensor.parameter",
        "context": "millrace.context",
        "grad": "millrace.grad",
        "graph_report": "millrace.graph.report",
        **dict.fromkeys(
            ("JitConfig", "jit", "jit_class", "lazy_inline", "ms_function", "mutable", "no_inline"),
            "millrace.graph.jit",
        ),
        "mint": "millrace.mint",
        "nn": "millrace.nn",
        "ops": "millrace.ops",
        "tensor": "millrace.tensor",
        "value_and_grad": "millrace.grad.functions",
        **dict.fromkeys(("get_grad", "jvp", "vjp"), "millrace.grad.products"),
        **dict.fromkeys(("jacfwd", "jacrev"), "millrace.grad.jacobian"),
        "recompute": "millrace.grad.again",
        "vmap": "millrace.grad.mapping",
    },
)

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

"""Functions of neural networks with PyTorch's names and arguments."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.ops.activation import (
    gelu_mint as gelu,
    leaky_relu_mint as leaky_relu,
    relu,
    sigmoid,
    silu_mint as silu,
)
from millrace.ops.elementwise import (
    tanh,
)
from millrace.ops.nonlinear import (
    elu_,
    elu_mint as elu,
    glu_mint as glu,
    hardtanh_,
    hardtanh_mint as hardtanh,
    logsigmoid_mint as logsigmoid,
    prelu,
    relu6_mint as relu6,
    relu_,
    threshold_,
    threshold_mint as threshold,
)
from millrace.ops.products import (
    linear,
)
from millrace.ops.softmaxes import (
    log_softmax_mint as log_softmax,
    normalized as normalize,
    softmax_mint as softmax,
)

__all__ = [
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "linear",
    "log_softmax",
    "logsigmoid",
    "normalize",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "sigmoid",
    "silu",
    "softmax",
    "tanh",
    "threshold",
    "threshold_",
]

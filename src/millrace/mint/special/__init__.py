"""Special functions with PyTorch's names and arguments."""

# Written by `python -m tests.contracts.public_api.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace._src.runtime.ops.math.elementwise_unary import (
    erfc,
    exp2,
    expm1,
    log1p,
    round_special as round,
)
from millrace._src.runtime.ops.math.trigonometric import (
    sinc,
)
from millrace._src.runtime.ops.nn.softmax import (
    log_softmax_mint as log_softmax,
)

__all__ = [
    "erfc",
    "exp2",
    "expm1",
    "log1p",
    "log_softmax",
    "round",
    "sinc",
]

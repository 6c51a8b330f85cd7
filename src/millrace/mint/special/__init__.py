"""Special functions with PyTorch's names and arguments."""

# Written by `python -m tests.names.make_faces` from the table of operations: change that, not this file.

from __future__ import annotations

from millrace.ops.elementwise import (
    erfc,
    exp2,
    expm1,
    log1p,
    round_special as round,
)
from millrace.ops.numeric import (
    sinc,
)
from millrace.ops.softmaxes import (
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

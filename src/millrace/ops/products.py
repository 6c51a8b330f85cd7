"""Products of matrices and vectors."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from .kinds import SAME
from .table import op

__all__ = ["dense", "linear"]


@op("ops", dtype=SAME)
def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The input times the transposed weight, plus the bias."""
    return F.linear(input, weight, bias)


@op("mint.nn.functional", dtype=SAME)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The input times the transposed weight, plus the bias."""
    return F.linear(input, weight, bias)

"""NumPy window functions: bartlett, blackman, hamming, hanning."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.arguments import to_int
from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["bartlett", "blackman", "hamming", "hanning"]


def _window(M: Any, make: Any) -> Tensor:
    """Window of M points as a function of the positions 0 to M - 1; a single point is 1."""
    count = to_int(M, "M")
    if count < 1:
        return torch.zeros(0)
    return make(torch.arange(count, dtype=torch.float32), count - 1) if count > 1 else torch.ones(1)


@op("numpy", dtype=UNCHECKED, differentiable=False)
def bartlett(M: int) -> Tensor:
    """Bartlett window: triangular."""
    return _window(M, lambda n, last: 1 - torch.abs(2 * n / last - 1))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def blackman(M: int) -> Tensor:
    """Blackman window."""
    turn = 2 * torch.pi
    return _window(
        M, lambda n, last: 0.42 - 0.5 * torch.cos(turn * n / last) + 0.08 * torch.cos(2 * turn * n / last)
    )


@op("numpy", dtype=UNCHECKED, differentiable=False)
def hamming(M: int) -> Tensor:
    """Hamming window."""
    return _window(M, lambda n, last: 0.54 - 0.46 * torch.cos(2 * torch.pi * n / last))


@op("numpy", dtype=UNCHECKED, differentiable=False)
def hanning(M: int) -> Tensor:
    """Hann window."""
    return _window(M, lambda n, last: 0.5 - 0.5 * torch.cos(2 * torch.pi * n / last))

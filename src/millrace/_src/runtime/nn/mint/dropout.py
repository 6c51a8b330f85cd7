"""Dropout layers with PyTorch signatures."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_number
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.nn import dropout as affine
from millrace._src.runtime.ops.nn.dropout import dropout_mint

__all__ = ["Dropout2d", "DropoutExt"]


@public("mint.nn")
class Dropout2d(Cell):
    """Channel dropout: channels of (N, C, H, W) or (C, H, W) are set to 0 with probability `p` in training
    mode.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        check_number(p, "p", "Dropout2d")
        if not 0 <= p <= 1:
            raise ArgumentValueError(
                f"For 'Dropout2d', the 'p' must be a number in range [0, 1], but got {p}."
            )
        self.p = p

    def construct(self, input: Any) -> Any:
        return affine.dropout2d_mint(input, self.p, True) if self.training else input


@public("nn", "mint.nn:Dropout")
class DropoutExt(Cell):
    """Dropout with PyTorch's arguments."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = check_number(p, "p", "DropoutExt"), inplace
        if not 0 <= p <= 1:
            raise ArgumentValueError(
                f"For 'DropoutExt', the 'p' must be a number in range [0, 1], but got {p}."
            )

    def construct(self, input: Any) -> Any:
        return dropout_mint(input, self.p, True, self.inplace) if self.training else input

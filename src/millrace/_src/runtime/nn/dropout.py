"""Dropout layers: elements or whole channels are set to 0 in training mode."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values import dtype as mstype
from millrace._src.core.values.dtype import DType
from millrace._src.runtime.ops.nn.dropout import dropout, dropout1d, dropout2d, dropout3d

from .argument_types import check_argument_type, check_number
from .cell import Cell

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d"]


@public("nn")
class Dropout(Cell):
    """Dropout: elements are set to 0 with probability `p` in training mode, the others are divided by 1 - p.

    `keep_prob` is the older argument: 1 - `p`.

    >>> Dropout(p=0.2)
    Dropout(p=0.2)
    """

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.keep_prob, self.p = keep_prob, p
        if p is None:
            check_number(keep_prob, "keep_prob", "Dropout")
            if not 0 < keep_prob <= 1:
                raise ArgumentValueError(
                    f"For 'Dropout', the 'keep_prob' must be a number in range (0, 1], but got {keep_prob}."
                )
            self.share = 1.0 - keep_prob
        else:
            check_number(p, "p", "Dropout")
            if not 0 <= p < 1:
                raise ArgumentValueError(
                    f"For 'Dropout', the 'p' must be a number in range [0, 1), but got {p}."
                )
            self.share = p

    def construct(self, x: Any) -> Any:
        return dropout(x, self.share) if self.training and self.share else x

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropout(Cell):
    """Base class of dropout of whole channels."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        owner = type(self).__name__
        check_argument_type(p, "p", owner, float)
        if not 0 <= p <= 1:
            raise ArgumentValueError(f"For '{owner}', the 'p' must be a number in range [0, 1], but got {p}.")
        self.p = p

    def extend_repr(self) -> str:
        return "" if isinstance(self, Dropout1d) else f"p={self.p}"


@public("nn")
class Dropout1d(_ChannelDropout):
    """Channel dropout: channels of (N, C, L) or (C, L) are set to 0 with probability `p` in training mode."""

    def construct(self, x: Any) -> Any:
        return dropout1d(x, self.p, self.training) if self.training and self.p else x


@public("nn")
class Dropout2d(_ChannelDropout):
    """Channel dropout: channels of (N, C, H, W) are set to 0 with probability `p` in training mode."""

    def construct(self, x: Any) -> Any:
        return dropout2d(x, self.p, self.training) if self.training and self.p else x


@public("nn")
class Dropout3d(_ChannelDropout):
    """Channel dropout: channels of (N, C, D, H, W) are set to 0 with probability `p` in training mode."""

    def construct(self, x: Any) -> Any:
        return dropout3d(x, self.p, self.training) if self.training and self.p else x

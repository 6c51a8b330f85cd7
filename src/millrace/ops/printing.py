"""Printing and asserting inside of nets."""

from __future__ import annotations

import sys
from typing import Any

from millrace.core.errors import OperationError
from millrace.core.tensor import Tensor
from millrace.tensor.storage import leaving

from .primitive import Primitive
from .table import public

__all__ = ["Assert", "Print", "print_"]


@public("ops")
class Print(Primitive):
    """Prints values, each on a line of its own, tensors with their shape and type; every time, also in graph mode.

    >>> Print()("loss", 3)
    loss
    3
    """

    def __init__(self) -> None:
        super().__init__("Print")

    def __call__(self, *args: Any) -> None:
        for told in leaving:
            told("what is printed")
        sys.stdout.write(
            "".join(f"{arg!r}\n" if isinstance(arg, (Tensor, tuple)) else f"{arg}\n" for arg in args)
        )


@public("ops")
def print_(*input_x: Any) -> None:
    """Prints values, each on a line of its own."""
    Print()(*input_x)


@public("ops")
class Assert(Primitive):
    """Raises where a condition does not hold, with the values that were given along.

    >>> Assert()(True, [Tensor([1.0])])
    """

    def __init__(self, summarize: int = 3) -> None:
        super().__init__("Assert")
        self.summarize = summarize

    def __call__(self, condition: Any, input_data: Any) -> None:
        if not condition:
            shown = "; ".join(str(value.asnumpy().ravel()[: self.summarize]) for value in input_data)
            raise OperationError(f"For 'Assert' condition is false. Input data: {shown}")

"""Flags of overflow."""

from __future__ import annotations

import torch

from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import Primitive, primitive
from millrace._src.runtime.ops.declare.registry import op, public
from millrace._src.runtime.tensor.storage import wrap

__all__ = [
    "FloatStatus",
    "NPUAllocFloatStatus",
    "NPUClearFloatStatus",
    "NPUGetFloatStatus",
    "float_status",
]


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def float_status(x: torch.Tensor) -> torch.Tensor:
    """[1.0] where an element is NaN or infinite, else [0.0]."""
    return (~torch.isfinite(x)).any().float().reshape(1)


FloatStatus = primitive("FloatStatus", float_status, init=(), call=("x",))


class _NPUFloatStatus(Primitive):
    """Ascend's flag of overflow. There is none on a CPU or GPU: it reads as eight zeros, "no overflow". What finds an
    overflow here is `FloatStatus`, or `amp.all_finite`."""

    def __init__(self) -> None:
        super().__init__(type(self).__name__)

    def __call__(self, x: Tensor | None = None) -> Tensor:
        """Eight zeros."""
        return wrap(torch.zeros(8))


@public("ops")
class NPUAllocFloatStatus(_NPUFloatStatus):
    """Makes room for Ascend's flag of overflow; here eight zeros."""


@public("ops")
class NPUGetFloatStatus(_NPUFloatStatus):
    """Reads Ascend's flag of overflow; here always eight zeros, "no overflow": use `FloatStatus`."""


@public("ops")
class NPUClearFloatStatus(_NPUFloatStatus):
    """Clears Ascend's flag of overflow; here eight zeros."""

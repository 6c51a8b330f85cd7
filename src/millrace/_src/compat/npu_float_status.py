"""Ascend overflow flags: accepted, always report no overflow."""

from __future__ import annotations

import numpy as np

from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.declare.primitive import Primitive

__all__ = ["NPUAllocFloatStatus", "NPUClearFloatStatus", "NPUGetFloatStatus"]


class _NPUFloatStatus(Primitive):
    """Ascend's flag of overflow. There is none on a CPU or GPU: it reads as eight zeros, "no overflow". What finds an
    overflow here is `FloatStatus`, or `amp.all_finite`."""

    def __init__(self) -> None:
        super().__init__(type(self).__name__)

    def __call__(self, x: Tensor | None = None) -> Tensor:
        """Eight zeros."""
        return Tensor(np.zeros(8, np.float32))


@public("ops")
class NPUAllocFloatStatus(_NPUFloatStatus):
    """Makes room for Ascend's flag of overflow; here eight zeros."""


@public("ops")
class NPUGetFloatStatus(_NPUFloatStatus):
    """Reads Ascend's flag of overflow; here always eight zeros, "no overflow": use `FloatStatus`."""


@public("ops")
class NPUClearFloatStatus(_NPUFloatStatus):
    """Clears Ascend's flag of overflow; here eight zeros."""

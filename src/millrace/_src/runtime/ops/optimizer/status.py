"""Overflow flag: FloatStatus."""

from __future__ import annotations

import torch

from millrace._src.runtime.ops.declare.dtype_rules import FLOATS, UNCHECKED
from millrace._src.runtime.ops.declare.primitive import primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["FloatStatus", "float_status"]


@op(accepts=FLOATS, dtype=UNCHECKED, differentiable=False)
def float_status(x: torch.Tensor) -> torch.Tensor:
    """[1.0] where an element is NaN or infinite, else [0.0]."""
    return (~torch.isfinite(x)).any().float().reshape(1)


FloatStatus = primitive("FloatStatus", float_status, init=(), call=("x",))

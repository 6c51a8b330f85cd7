"""What gradients do not pass through."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["stop_gradient"]


@op("ops", dtype=SAME, differentiable=False)
def stop_gradient(value: Any) -> Any:
    """The value, a constant to gradients."""
    if isinstance(value, (tuple, list)):
        return type(value)(part.detach() if isinstance(part, Tensor) else part for part in value)
    return value.detach() if isinstance(value, Tensor) else value

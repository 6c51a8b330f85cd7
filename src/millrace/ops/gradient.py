"""What gradients do not pass through."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .kinds import SAME
from .table import op

__all__ = ["stop_gradient"]


@op("ops", dtype=SAME, differentiable=False)
def stop_gradient(value: Any) -> Any:
    """The value, a constant to gradients."""
    if isinstance(value, (tuple, list)):
        return type(value)(part.detach() if isinstance(part, Tensor) else part for part in value)
    return value.detach() if isinstance(value, Tensor) else value

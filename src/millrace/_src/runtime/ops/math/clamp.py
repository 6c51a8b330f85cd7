"""Clamping: clamp, clip_by_value."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.registry import op
from millrace._src.runtime.tensor.backend.torch_private import release

__all__ = ["clamp", "clip_by_value"]


def _apply_limits(input: Tensor, low: Any, high: Any, name: str) -> Tensor:
    if low is None and high is None:
        raise ArgumentValueError(f"For {name}, at least one of 'min' or 'max' must not be None.")
    clamped = input
    if low is not None:
        clamped = torch.maximum(clamped, _cast_limit(low, input))
    if high is not None:
        clamped = torch.minimum(clamped, _cast_limit(high, input))
    return clamped


def _cast_limit(value: Any, input: Tensor) -> Tensor:
    """Limit in the input's dtype: MindSpore truncates 2.5 to 2 for integers."""
    return torch.as_tensor(value, device=input.device).to(input.dtype)


def _clamp(input: Tensor, low: Tensor | None, high: Tensor | None) -> Tensor:
    """torch.clamp with the gradient of PyTorch before 2.14. Later releases pass part of the gradient to the limit
    where an element equals it.
    """
    if low is not None:
        input = torch.where((input < low) | low.isnan(), low, input)
    if high is not None:
        input = torch.where((input > high) | high.isnan(), high, input)
    return input


@op("ops", "mint", "Tensor", "ops:clip", "Tensor:clip", dtype=SAME)
def clamp(input: Tensor, min: Tensor | float | None = None, max: Tensor | float | None = None) -> Tensor:
    """Clamp each element to [min, max]; either limit may be omitted. At a limit the whole gradient goes to the
    element.
    """
    if input.dtype is torch.bool or (min is None and max is None):
        return _apply_limits(input, min, max, "Clamp")
    low, high = (None if limit is None else _cast_limit(limit, input) for limit in (min, max))
    return torch.clamp(input, low, high) if release < (2, 14) else _clamp(input, low, high)


@op("ops", dtype=SAME)
def clip_by_value(
    x: Any, clip_value_min: Tensor | float | None = None, clip_value_max: Tensor | float | None = None
) -> Any:
    """Clip each element to a range; either limit may be omitted. Accepts a list of tensors."""
    if isinstance(x, (list, tuple)):
        parts = [_apply_limits(part, clip_value_min, clip_value_max, "clip_by_value") for part in x]
        return type(x)(parts)
    return _apply_limits(x, clip_value_min, clip_value_max, "clip_by_value")

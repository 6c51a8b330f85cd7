"""Gradient overflow detection and loss scale updates, without reading values on the host."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from millrace._src.runtime.ops.declare.dtype_rules import UNCHECKED
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["has_non_finite", "update_dynamic_loss_scale", "update_loss_scale"]


@op(dtype=UNCHECKED, differentiable=False)
def has_non_finite(gradients: list[Tensor]) -> Tensor:
    """Whether any element is infinite or NaN."""
    return torch.stack([~torch.isfinite(each).all() for each in gradients]).any()


@op(dtype=UNCHECKED, differentiable=False)
def update_loss_scale(
    scale: Tensor, last: Tensor, step: Tensor, overflow: Any, factor: float, window: int, least: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Loss scale after a step, the step of the last change, and the number of the next step."""
    over = torch.as_tensor(overflow, device=scale.device)
    grows = ~over & (step - last >= window)
    smaller = torch.clamp_min(scale / factor, least)
    new_scale = torch.where(over, smaller, torch.where(grows, scale * factor, scale))
    return new_scale, torch.where(over | grows, step, last), step + 1


@op(dtype=UNCHECKED, differentiable=False)
def update_dynamic_loss_scale(
    scale: Tensor, count: Tensor, finite: Any, factor: int, window: int
) -> tuple[Tensor, Tensor]:
    """Loss scale after gradients that were finite or not, and the number of finite steps in a row."""
    fine = torch.as_tensor(finite, device=scale.device)
    grows = fine & (count == window - 1)
    smaller = torch.clamp_min(scale / factor, 1.0)
    new_scale = torch.where(fine, torch.where(grows, scale * factor, scale), smaller)
    return new_scale, torch.where(fine & ~grows, count + 1, torch.zeros_like(count))

"""Fused optimizer updates: AdaFactor, and Adam with weight decay from half-precision gradients."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .apply import define_update_primitive, moments

__all__ = ["FusedAdaFactor", "FusedAdaFactorWithGlobalNorm", "FusedCastAdamWeightDecay"]


def _root_mean_square(x: Tensor) -> Tensor:
    """Root mean square."""
    return x.square().mean().sqrt()


def _factor(
    o: Any,
    epsilon: Any,
    clip_threshold: Any,
    beta1: Any,
    beta2: Any,
    weight_decay: Any,
    learning_rate: Any,
    grad: Any,
    param: Tensor,
    exp_avg: Any,
    exp_avg_sq_row: Any,
    exp_avg_sq_col: Any,
    exp_avg_sq: Any,
) -> None:
    """AdaFactor: for a matrix only the mean squares per row and per column are kept, for a vector all squares."""
    small, least = epsilon.unbind() if isinstance(epsilon, Tensor) else epsilon
    grad = grad.to(param.dtype)
    squares = grad.square() + small
    if param.ndim >= 2:
        exp_avg_sq_row.mul_(beta2).add_(squares.mean(-1) * (1 - beta2))
        exp_avg_sq_col.mul_(beta2).add_(squares.mean(-2) * (1 - beta2))
        rows = (exp_avg_sq_row / exp_avg_sq_row.mean(-1, keepdim=True)).rsqrt().unsqueeze(-1)
        step = rows * exp_avg_sq_col.rsqrt().unsqueeze(-2) * grad
    else:
        exp_avg_sq.mul_(beta2).add_(squares * (1 - beta2))
        step = exp_avg_sq.rsqrt() * grad
    step = step / (_root_mean_square(step) / clip_threshold).clamp_min(1.0)
    rate = learning_rate
    if o.enable_scale_parameter:
        rate = rate * torch.maximum(
            _root_mean_square(param), torch.as_tensor(least, dtype=param.dtype, device=param.device)
        )
    step = step * rate
    if o.enable_first_moment:
        exp_avg.mul_(beta1).add_(step * (1 - beta1))
        step = exp_avg
    decay = param * (weight_decay * rate) if o.enable_weight_decay else 0.0
    param.sub_(step + decay)


def _factor_by_norm(
    o: Any,
    epsilon: Any,
    clip_threshold: Any,
    beta1: Any,
    beta2: Any,
    weight_decay: Any,
    learning_rate: Any,
    grad: Any,
    param: Tensor,
    exp_avg: Any,
    exp_avg_sq_row: Any,
    exp_avg_sq_col: Any,
    exp_avg_sq: Any,
    global_norm: Any,
) -> None:
    """AdaFactor of the gradient divided by `global_norm`."""
    rest = (param, exp_avg, exp_avg_sq_row, exp_avg_sq_col, exp_avg_sq)
    _factor(o, epsilon, clip_threshold, beta1, beta2, weight_decay, learning_rate, grad / global_norm, *rest)


def _cast_adam(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    decay: Any,
    gradient: Any,
    global_norm: Any,
) -> None:
    """Adam without bias correction, with decoupled weight decay, of a float16 gradient divided by `global_norm`."""
    moments(m, v, gradient.to(m.dtype) / global_norm, beta1, beta2)
    var.sub_(((m / (v.sqrt() + epsilon) + var.to(m.dtype) * decay) * lr).to(var.dtype))


_FACTOR = {"enable_scale_parameter": False, "enable_first_moment": False, "enable_weight_decay": False}
FusedAdaFactor = define_update_primitive(_factor, "FusedAdaFactor", 1, __name__, **_FACTOR)
FusedAdaFactorWithGlobalNorm = define_update_primitive(
    _factor_by_norm, "FusedAdaFactorWithGlobalNorm", 1, __name__, **_FACTOR
)
FusedCastAdamWeightDecay = define_update_primitive(
    _cast_adam, "FusedCastAdamWeightDecay", 3, __name__, use_locking=False
)

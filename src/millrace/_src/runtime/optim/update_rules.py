"""Update rules on lists of tensors, shared by MindSpore's optimizers and those with PyTorch's arguments."""

from __future__ import annotations

import torch

from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["Tensors", "gradient_descent_step", "momentum_step", "update_moments"]

Tensors = list[torch.Tensor]


def gradient_descent_step(params: Tensors, steps: Tensors, lr: torch.Tensor) -> None:
    """``p -= lr * step``, in one pass."""
    if params[0].is_cuda:  # one kernel for the whole list, where `addcmul_` with a scalar has one per tensor
        foreach.sub_(params, foreach.mul(steps, lr))
        return
    foreach.addcmul_(params, steps, [lr] * len(params), value=-1)


def update_moments(grads: Tensors, first: Tensors, second: Tensors, beta1: float, beta2: float) -> None:
    """Update the moving averages of gradients and of their squares."""
    foreach.lerp_(first, grads, 1 - beta1)
    foreach.mul_(second, beta2)
    foreach.addcmul_(second, grads, grads, value=1 - beta2)


def momentum_step(
    params: Tensors,
    grads: Tensors,
    moments: Tensors,
    lr: torch.Tensor,
    momentum: float | torch.Tensor,
    nesterov: bool,
    parts: Tensors | float = 1.0,
) -> None:
    """``m = momentum * m + part * g``, then ``p -= lr * m``; with Nesterov momentum ``p -= lr * (g + momentum
    * m)``.
    """
    foreach.mul_(moments, momentum)
    if isinstance(parts, float):
        foreach.add_(moments, grads, alpha=parts)
    else:
        foreach.addcmul_(moments, grads, parts)
    steps = moments
    if nesterov:
        steps = foreach.mul(moments, momentum)
        foreach.add_(steps, grads)
    gradient_descent_step(params, steps, lr)

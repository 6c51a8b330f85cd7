"""Steps on lists of tensors that optimizers of both kinds take: MindSpore's own, and those with PyTorch's arguments."""

from __future__ import annotations

import torch

from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = [
    "Tensors",
    "adadelta_step",
    "update_moments",
    "asgd_step",
    "gradient_descent_step",
    "momentum_step",
    "rprop_step",
]

Tensors = list[torch.Tensor]


def gradient_descent_step(params: Tensors, steps: Tensors, lr: torch.Tensor) -> None:
    """``p -= lr * step``, in one pass over each."""
    if params[
        0
    ].is_cuda:  # one kernel for the whole list, where `addcmul_` with one number for all has one for each
        foreach.sub_(params, foreach.mul(steps, lr))
        return
    foreach.addcmul_(params, steps, [lr] * len(params), value=-1)


def update_moments(grads: Tensors, first: Tensors, second: Tensors, beta1: float, beta2: float) -> None:
    """Running means of gradients and of their squares."""
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
    """``m = momentum * m + part * g``, then ``p -= lr * m``; Nesterov's change is ``p -= lr * (g + momentum * m)``."""
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


def adadelta_step(
    params: Tensors,
    grads: Tensors,
    accum: Tensors,
    changes: Tensors,
    lr: torch.Tensor,
    rho: float,
    eps: float,
) -> None:
    """A step has the size of earlier steps in the ratio of the gradient to earlier gradients."""
    foreach.mul_(accum, rho)
    foreach.addcmul_(accum, grads, grads, value=1 - rho)
    steps = foreach.add(changes, eps)
    foreach.div_(steps, foreach.add(accum, eps))
    foreach.sqrt_(steps)
    foreach.mul_(steps, grads)
    foreach.mul_(changes, rho)
    foreach.addcmul_(changes, steps, steps, value=1 - rho)
    gradient_descent_step(params, steps, lr)


def rprop_step(
    params: Tensors,
    grads: Tensors,
    before: Tensors,
    sizes: Tensors,
    lr: torch.Tensor,
    first: torch.Tensor,
    etas: tuple[float, float],
    limits: tuple[float, float],
) -> None:
    """Steps by the sign of a gradient, whose size grows while the sign stays and shrinks when it turns."""
    turns = foreach.mul(grads, before)
    for param, grad, kept, size, turn in zip(params, grads, before, sizes, turns, strict=True):
        factor = torch.where(turn > 0, etas[1], torch.where(turn < 0, etas[0], 1.0))
        size.copy_(torch.where(first, lr, size) * factor)
        size.clamp_(*limits)
        kept.copy_(torch.where(turn < 0, 0.0, grad))
        param.addcmul_(kept.sign(), size, value=-1)


def asgd_step(
    params: Tensors,
    grads: Tensors,
    parts: Tensors,
    rates: Tensors,
    means: Tensors,
    lr: torch.Tensor,
    step: torch.Tensor,
    lambd: float,
    alpha: float,
    t0: float,
) -> None:
    """Descent whose steps shrink, and a mean of where it has been."""
    now = [torch.where(step == 1, lr, rate) for rate in rates]
    foreach.mul_(params, [1.0 - lambd * rate for rate in now])
    foreach.addcmul_(params, grads, now, value=-1)
    for mean, param, part in zip(means, params, parts, strict=True):
        mean.copy_(torch.where(part == 1, param, mean + (param - mean) * part))
    rate = lr / torch.pow(1.0 + lambd * lr * step, alpha)
    part = 1.0 / torch.clamp_min(step - t0, 1.0)
    foreach.copy_(rates, [rate] * len(rates))
    foreach.copy_(parts, [part] * len(parts))

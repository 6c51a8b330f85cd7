"""RAdam."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.optim.optim_adam import _check
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step, update_moments
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["RAdam"]


@public("experimental.optim")
class RAdam(ParamGroupForeachOptimizer):
    """Adam that takes plain steps with momentum until its second moment can be trusted.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> RAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        _check(self, lr, betas, eps, weight_decay)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self._count()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        first, second = slots
        (beta1, beta2), step = group["betas"], self.step_number()
        update_moments(grads, first, second, beta1, beta2)
        left = beta2**step
        most = 2 / (1 - beta2) - 1
        length = most - 2 * step * left / (1 - left)
        trusted = length > 5.0
        safe = torch.where(trusted, length, 6.0)
        rect = torch.sqrt((safe - 4) * (safe - 2) * most / ((most - 4) * (most - 2) * safe))
        below = foreach.sqrt(second)
        foreach.add_(below, group["eps"])
        foreach.div_(below, torch.sqrt(1 - left) * rect)
        below = [torch.where(trusted, each, 1.0) for each in below]
        gradient_descent_step(params, foreach.div(first, below), lr / (1 - beta1**step))

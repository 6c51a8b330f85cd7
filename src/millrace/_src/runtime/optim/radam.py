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
    """RAdam: momentum steps until the variance of the second moment is tractable, then Adam steps.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> RAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("exp_avg", "exp_avg_sq")

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
        self._create_step_counter()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        first, second = states
        (beta1, beta2), step = group["betas"], self.step_number()
        update_moments(grads, first, second, beta1, beta2)
        beta2_power = beta2**step
        max_length = 2 / (1 - beta2) - 1
        length = max_length - 2 * step * beta2_power / (1 - beta2_power)
        trusted = length > 5.0
        safe = torch.where(trusted, length, 6.0)
        rect = torch.sqrt((safe - 4) * (safe - 2) * max_length / ((max_length - 4) * (max_length - 2) * safe))
        denominator = foreach.sqrt(second)
        foreach.add_(denominator, group["eps"])
        foreach.div_(denominator, torch.sqrt(1 - beta2_power) * rect)
        denominator = [torch.where(trusted, each, 1.0) for each in denominator]
        gradient_descent_step(params, foreach.div(first, denominator), lr / (1 - beta1**step))

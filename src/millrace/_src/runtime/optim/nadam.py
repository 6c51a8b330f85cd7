"""NAdam."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.optim.optim_adam import _check
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step, update_moments
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["NAdam"]


@public("experimental.optim")
class NAdam(ParamGroupForeachOptimizer):
    """NAdam: Adam with Nesterov momentum, which grows from step to step.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> NAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("exp_avg", "exp_avg_sq", "mu_product")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
    ) -> None:
        _check(self, lr, betas, eps, weight_decay)
        check_greater(momentum_decay, "momentum_decay", "NAdam", equal=True)
        options = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {"lr": lr, **options, "momentum_decay": momentum_decay})
        self._create_step_counter()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.mu_product = self._scalar_states("mu_product_", 1.0)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        first, second, products = states
        (beta1, beta2), step, fading = group["betas"], self.step_number(), group["momentum_decay"]
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * fading))
        ahead = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * fading))
        foreach.mul_(products, now)
        update_moments(grads, first, second, beta1, beta2)
        denominator = foreach.div(second, 1 - beta2**step)
        foreach.sqrt_(denominator)
        foreach.add_(denominator, group["eps"])
        # a step by the gradient, then by the mean; the products are the same for all parameters of a group
        product = products[0]
        gradient_descent_step(params, foreach.div(grads, denominator), lr * (1.0 - now) / (1.0 - product))
        gradient_descent_step(params, foreach.div(first, denominator), lr * ahead / (1.0 - product * ahead))

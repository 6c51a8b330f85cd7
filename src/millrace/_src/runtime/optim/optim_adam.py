"""Adam and AdamW with PyTorch's arguments, and their shared base class."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupForeachOptimizer,
    check_adam,
    check_beta,
    check_greater,
)
from millrace._src.runtime.optim.update_rules import Tensors, update_moments
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["ExperimentalAdam", "ExperimentalAdamW"]


class _ParamGroupAdam(ParamGroupForeachOptimizer):
    """Adam states: the moments, and the largest second moment for AMSGrad."""

    state_names: tuple[str, ...] = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    step_parameter_name = "state_step"

    def _begin(
        self, params: Any, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: Any, maximize: Any
    ) -> None:
        """Check the arguments, divide the parameters into groups, and create the states."""
        check_adam(lr, betas, eps, weight_decay)
        options = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
        ParamGroupForeachOptimizer.__init__(
            self, params, {"lr": lr, **options, "amsgrad": amsgrad, "maximize": maximize}
        )
        self._create_states()

    def _create_states(self) -> None:
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.max_exp_avg_sq = self.parameters.clone(prefix="max_exp_avg_sq", init="zeros")
        self.state_step = Parameter(Tensor(0, int32), "state_step")

    def _second(self, group: dict[str, Any], grads: Tensors, *states: Any) -> Tensors:
        """Update the moments and return the second moment of the denominator."""
        first, second = states[:2]
        update_moments(grads, first, second, *group["betas"])
        if not group["amsgrad"]:
            return second
        foreach.maximum_(states[2], second)
        return states[2]

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        """PyTorch's step; decoupled weight decay is applied to the parameters first."""
        if not self.has_coupled_weight_decay:
            foreach.mul_(params, 1 - lr * group["weight_decay"])
        second = self._second(group, grads, *states)
        bias_corrected_adam_step(group, self.step_number(), lr, params, states[0], second)


def bias_corrected_adam_step(
    group: dict[str, Any],
    step: torch.Tensor,
    lr: torch.Tensor,
    params: Tensors,
    first: Tensors,
    second: Tensors,
) -> None:
    """``p -= lr * m_hat / (sqrt(v_hat) + eps)``: PyTorch's Adam, with `eps` inside of the bias correction."""
    beta1, beta2 = group["betas"]
    denominator = foreach.sqrt(second)
    foreach.div_(denominator, torch.sqrt(1 - beta2**step))
    foreach.add_(denominator, group["eps"])
    foreach.div_(denominator, -lr / (1 - beta1**step))
    foreach.addcdiv_(params, first, denominator)


@public("experimental.optim:Adam")
@public_name("Adam")
class ExperimentalAdam(_ParamGroupAdam):
    """Adam with PyTorch's arguments and MindSpore's formula: `eps` is outside of the bias correction.

    (MindSpore ignores `amsgrad`; this class does not.)

    >>> from millrace.experimental.optim import Adam
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.5, 2.5]
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self._begin(params, lr, betas, eps, weight_decay, amsgrad, maximize)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        denominator = foreach.sqrt(self._second(group, grads, *states))
        foreach.add_(denominator, group["eps"])
        (beta1, beta2), step = group["betas"], self.step_number()
        foreach.div_(denominator, -lr * torch.sqrt(1 - beta2**step) / (1 - beta1**step))
        foreach.addcdiv_(params, states[0], denominator)


@public("experimental.optim:AdamW")
@public_name("AdamW")
class ExperimentalAdamW(_ParamGroupAdam):
    """AdamW: Adam with decoupled weight decay.

    >>> from millrace.experimental.optim import AdamW
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdamW([weight], lr=0.5, weight_decay=0.1)((Tensor([1.0, -1.0]),))
    True
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.45, 2.4]
    """

    has_coupled_weight_decay = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        self._begin(params, lr, betas, eps, weight_decay, amsgrad, maximize)


def _check(owner: ParamGroupForeachOptimizer, lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    name = type(owner).__name__
    check_greater(lr, "lr", name)
    check_greater(eps, "eps", name)
    check_greater(weight_decay, "weight_decay", name, equal=True)
    check_beta(betas[0], "betas[0]", name)
    check_beta(betas[1], "betas[1]", name)

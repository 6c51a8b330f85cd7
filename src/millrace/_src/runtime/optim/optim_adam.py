"""Adam and its kin, with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
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
    """Moments of the gradients, and the largest second one for AMSGrad."""

    slots: tuple[str, ...] = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    step_parameter_name = "state_step"

    def _begin(
        self, params: Any, lr: Any, betas: Any, eps: Any, weight_decay: Any, amsgrad: Any, maximize: Any
    ) -> None:
        """Check the numbers, divide the parameters into groups, and make what is kept of them."""
        check_adam(lr, betas, eps, weight_decay)
        options = {"betas": betas, "eps": eps, "weight_decay": weight_decay}
        ParamGroupForeachOptimizer.__init__(
            self, params, {"lr": lr, **options, "amsgrad": amsgrad, "maximize": maximize}
        )
        self._keep()

    def _keep(self) -> None:
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.max_exp_avg_sq = self.parameters.clone(prefix="max_exp_avg_sq", init="zeros")
        self.state_step = Parameter(Tensor(0, int32), "state_step")

    def _second(self, group: dict[str, Any], grads: Tensors, *slots: Any) -> Tensors:
        """The moments with these gradients; gives the second that a step is divided by."""
        first, second = slots[:2]
        update_moments(grads, first, second, *group["betas"])
        if not group["amsgrad"]:
            return second
        foreach.maximum_(slots[2], second)
        return slots[2]

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        """PyTorch's step; weight decay that is not part of the gradient shrinks the parameters first."""
        if not self.decays_gradients:
            foreach.mul_(params, 1 - lr * group["weight_decay"])
        second = self._second(group, grads, *slots)
        bias_corrected_adam_step(group, self.step_number(), lr, params, slots[0], second)


def bias_corrected_adam_step(
    group: dict[str, Any],
    step: torch.Tensor,
    lr: torch.Tensor,
    params: Tensors,
    first: Tensors,
    second: Tensors,
) -> None:
    """``p -= lr * m_hat / (sqrt(v_hat) + eps)``: PyTorch's Adam, whose eps is inside of the correction."""
    beta1, beta2 = group["betas"]
    below = foreach.sqrt(second)
    foreach.div_(below, torch.sqrt(1 - beta2**step))
    foreach.add_(below, group["eps"])
    foreach.div_(below, -lr / (1 - beta1**step))
    foreach.addcdiv_(params, first, below)


@public("experimental.optim:Adam")
class ExperimentalAdam(_ParamGroupAdam):
    """Adam with PyTorch's arguments and MindSpore's formula: `eps` stands outside of the correction of the moments.

    (MindSpore's leaves `amsgrad` out; this one does not.)

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
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
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        below = foreach.sqrt(self._second(group, grads, *slots))
        foreach.add_(below, group["eps"])
        (beta1, beta2), step = group["betas"], self.step_number()
        foreach.div_(below, -lr * torch.sqrt(1 - beta2**step) / (1 - beta1**step))
        foreach.addcdiv_(params, slots[0], below)


@public("experimental.optim:AdamW")
class ExperimentalAdamW(_ParamGroupAdam):
    """Adam with weight decay apart from the gradient.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalAdamW([weight], lr=0.5, weight_decay=0.1)((Tensor([1.0, -1.0]),))
    True
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.45, 2.4]
    """

    decays_gradients = False

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

"""Adam and its kin, with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupForeachOptimizer,
    check_adam,
    check_beta,
    check_greater,
)
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step, update_moments
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["ExperimentalAdam", "ExperimentalAdamW", "Adamax", "NAdam", "RAdam"]


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


class Adamax(ParamGroupForeachOptimizer):
    """Adam with the largest gradient, which fades, in the place of the root of the second moment.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adamax([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: Any,
        lr: Any = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        _check(self, lr, betas, eps, weight_decay)
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )
        self._count()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_inf = self.parameters.clone(prefix="exp_inf", init="zeros")

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        first, largest = slots
        beta1, beta2 = group["betas"]
        foreach.lerp_(first, grads, 1 - beta1)
        foreach.mul_(largest, beta2)
        sizes = foreach.abs(grads)
        foreach.add_(sizes, group["eps"])
        foreach.maximum_(largest, sizes)
        below = foreach.div(largest, -lr / (1 - beta1 ** self.step_number()))
        foreach.addcdiv_(params, first, below)


class NAdam(ParamGroupForeachOptimizer):
    """Adam with Nesterov's change, whose momentum grows from step to step.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> NAdam([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("exp_avg", "exp_avg_sq", "mu_product")

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
        self._count()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_avg_sq = self.parameters.clone(prefix="exp_avg_sq", init="zeros")
        self.mu_product = self._numbers("mu_product_", 1.0)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        first, second, products = slots
        (beta1, beta2), step, fading = group["betas"], self.step_number(), group["momentum_decay"]
        now = beta1 * (1.0 - 0.5 * 0.96 ** (step * fading))
        ahead = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * fading))
        foreach.mul_(products, now)
        update_moments(grads, first, second, beta1, beta2)
        below = foreach.div(second, 1 - beta2**step)
        foreach.sqrt_(below)
        foreach.add_(below, group["eps"])
        # by the gradient, then by the mean; the products are the same for all parameters of a group
        product = products[0]
        gradient_descent_step(params, foreach.div(grads, below), lr * (1.0 - now) / (1.0 - product))
        gradient_descent_step(params, foreach.div(first, below), lr * ahead / (1.0 - product * ahead))


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


def _check(owner: ParamGroupForeachOptimizer, lr: Any, betas: Any, eps: Any, weight_decay: Any) -> None:
    name = type(owner).__name__
    check_greater(lr, "lr", name)
    check_greater(eps, "eps", name)
    check_greater(weight_decay, "weight_decay", name, equal=True)
    check_beta(betas[0], "betas[0]", name)
    check_beta(betas[1], "betas[1]", name)

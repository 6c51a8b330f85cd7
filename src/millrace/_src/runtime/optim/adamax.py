"""AdaMax."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.optim.adam import _MomentOptimizer
from millrace._src.runtime.optim.optim_adam import _check
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["AdaMax", "Adamax"]


@public("nn")
class AdaMax(_MomentOptimizer):
    """AdaMax: Adam with the exponentially weighted infinity norm instead of the root of the second moment.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdaMax([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.5, 2.5]
    """

    state_names = ("moment1", "moment2")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(beta1, beta2, eps)
        self.beta1_power = Parameter(Tensor([1.0]), name="beta1_power")
        self.moment1 = self._parameters.clone(prefix="moment1", init="zeros")
        self.moment2 = self._parameters.clone(prefix="moment2", init="zeros")

    def begin_step(self) -> None:
        self.beta1_power._torch.mul_(self._beta1)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        first, largest = states
        foreach.lerp_(first, grads, 1 - self._beta1)
        foreach.mul_(largest, self._beta2)
        foreach.maximum_(largest, foreach.abs(grads))
        denominator = foreach.add(largest, self._eps)
        foreach.div_(denominator, -lr / (1 - self.beta1_power._torch.reshape(())))
        foreach.addcdiv_(params, first, denominator)


@public("experimental.optim")
class Adamax(ParamGroupForeachOptimizer):
    """Adamax: Adam with the exponentially weighted infinity norm instead of the root of the second moment.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adamax([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("exp_avg", "exp_inf")

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
        self._create_step_counter()
        self.exp_avg = self.parameters.clone(prefix="exp_avg", init="zeros")
        self.exp_inf = self.parameters.clone(prefix="exp_inf", init="zeros")

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        first, largest = states
        beta1, beta2 = group["betas"]
        foreach.lerp_(first, grads, 1 - beta1)
        foreach.mul_(largest, beta2)
        sizes = foreach.abs(grads)
        foreach.add_(sizes, group["eps"])
        foreach.maximum_(largest, sizes)
        denominator = foreach.div(largest, -lr / (1 - beta1 ** self.step_number()))
        foreach.addcdiv_(params, first, denominator)

"""Adadelta."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.adagrad import _FloatOptionsOptimizer
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["Adadelta", "ExperimentalAdadelta", "adadelta_step"]


@public("nn")
class Adadelta(_FloatOptionsOptimizer):
    """Adadelta: the step size is the ratio of earlier steps to earlier gradients, times the gradient.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adadelta([weight])((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 5) for number in weight.asnumpy().tolist()]
    [0.99684, 2.00316]
    """

    state_names = ("accum", "accum_update")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(rho=rho, epsilon=epsilon)
        if rho > 1.0:
            raise ArgumentValueError(
                f"For 'Adadelta', the 'rho' must be in range of [0.0, 1.0], but got {rho} with type 'float'."
            )
        self.accum = self._parameters.clone(prefix="accum", init="zeros")
        self.accum_update = self._parameters.clone(prefix="accum_update", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        adadelta_step(params, grads, states[0], states[1], lr, self._rho, self._epsilon)


def adadelta_step(
    params: Tensors,
    grads: Tensors,
    accum: Tensors,
    changes: Tensors,
    lr: torch.Tensor,
    rho: float,
    eps: float,
) -> None:
    """Adadelta: the step size is the ratio of earlier steps to earlier gradients, times the gradient."""
    foreach.mul_(accum, rho)
    foreach.addcmul_(accum, grads, grads, value=1 - rho)
    steps = foreach.add(changes, eps)
    foreach.div_(steps, foreach.add(accum, eps))
    foreach.sqrt_(steps)
    foreach.mul_(steps, grads)
    foreach.mul_(changes, rho)
    foreach.addcmul_(changes, steps, steps, value=1 - rho)
    gradient_descent_step(params, steps, lr)


@public("experimental.optim:Adadelta")
@public_name("Adadelta")
class ExperimentalAdadelta(ParamGroupForeachOptimizer):
    """Adadelta: the step size is the ratio of earlier steps to earlier gradients, times the gradient.

    >>> from millrace.experimental.optim import Adadelta
    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adadelta([weight])((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("accum", "accum_update")

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        check_greater(lr, "lr", "Adadelta")
        check_greater(eps, "eps", "Adadelta")
        check_greater(weight_decay, "weight_decay", "Adadelta", equal=True)
        check_argument_type(rho, "rho", "Adadelta", float)
        if not 0.0 <= rho <= 1.0:
            raise ArgumentValueError(
                f"For 'Adadelta', the 'rho' must be in range of [0.0, 1.0], but got {rho} with type 'float'."
            )
        super().__init__(
            params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )
        self.accum = self.parameters.clone(prefix="accum", init="zeros")
        self.accum_update = self.parameters.clone(prefix="accum_update", init="zeros")

    def begin_step(self) -> None:
        """No effect: there is no step counter."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        adadelta_step(params, grads, states[0], states[1], lr, group["rho"], group["eps"])

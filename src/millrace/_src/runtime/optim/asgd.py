"""Averaged stochastic gradient descent (ASGD)."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.foreach_optimizer import ForeachOptimizer
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

__all__ = ["ASGD", "ExperimentalASGD", "asgd_step"]


@public("nn")
class ASGD(ForeachOptimizer):
    """Averaged SGD: decreasing steps, and the average of the parameters in `ax`, from step `t0`.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ASGD([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.4999, 2.4999]
    """

    state_names = ("mu", "eta", "ax")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        for name, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            check_argument_type(value, name, "ASGD", float)
        self.lambd, self.alpha, self.t0 = lambd, alpha, t0
        self.mu = self._scalar_states("mu_", 1.0)
        self.eta = self._scalar_states("eta_", 0.0)
        self.ax = self._parameters.clone(prefix="ax_", init="zeros")

    def _scalar_states(self, prefix: str, value: float) -> ParameterTuple:
        """A scalar state for each parameter."""
        return ParameterTuple(
            Parameter(Tensor(value, float32), name=prefix + param.name) for param in self._parameters
        )

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        step = self.global_step._torch.reshape(()).to(torch.float32)
        asgd_step(params, grads, states[0], states[1], states[2], lr, step, self.lambd, self.alpha, self.t0)


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
    """Averaged SGD: decreasing steps, and the average of the parameters."""
    now = [torch.where(step == 1, lr, rate) for rate in rates]
    foreach.mul_(params, [1.0 - lambd * rate for rate in now])
    foreach.addcmul_(params, grads, now, value=-1)
    for mean, param, part in zip(means, params, parts, strict=True):
        mean.copy_(torch.where(part == 1, param, mean + (param - mean) * part))
    rate = lr / torch.pow(1.0 + lambd * lr * step, alpha)
    part = 1.0 / torch.clamp_min(step - t0, 1.0)
    foreach.copy_(rates, [rate] * len(rates))
    foreach.copy_(parts, [part] * len(parts))


@public("experimental.optim:ASGD")
@public_name("ASGD")
class ExperimentalASGD(ParamGroupForeachOptimizer):
    """Averaged SGD: decreasing steps, and the average of the parameters from step `t0`.

    >>> from millrace.experimental.optim import ASGD
    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ASGD([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("mu", "eta", "ax")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        maximize: bool = False,
    ) -> None:
        check_greater(lr, "lr", "ASGD")
        check_greater(weight_decay, "weight_decay", "ASGD", equal=True)
        for name, value in (("lambd", lambd), ("t0", t0)):
            if not isinstance(value, float):
                raise ArgumentTypeError(
                    f"For 'ASGD', the type of {name} must be float, but got {type(value)}."
                )
        options = {"lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        super().__init__(params, {"lr": lr, **options, "maximize": maximize})
        self.mu, self.eta = self._scalar_states("mu_", 1.0), self._scalar_states("eta_", 0.0)
        self.ax = self.parameters.clone(prefix="ax", init="zeros")
        self._create_step_counter()

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        step = self.step_number()
        asgd_step(
            params,
            grads,
            states[0],
            states[1],
            states[2],
            lr,
            step,
            group["lambd"],
            group["alpha"],
            group["t0"],
        )

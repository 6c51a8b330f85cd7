"""Stochastic gradient descent with the arguments of MindSpore and of PyTorch."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.foreach_optimizer import ForeachOptimizer
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupForeachOptimizer,
    ParamGroupOptimizer,
)
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step, momentum_step
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["ExperimentalSGD", "MintSGD", "ParamGroupOptimizer", "SGD"]


def check_nesterov(nesterov: bool, momentum: float, dampening: float) -> None:
    """Check that Nesterov momentum has a momentum and no dampening."""
    if nesterov and (momentum <= 0.0 or dampening != 0.0):
        raise ArgumentValueError(
            "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must equal to 0.0, but got "
            f"'momentum' {momentum}, 'dampening' {dampening}"
        )


@public("experimental.optim:SGD")
@public_name("SGD")
class ExperimentalSGD(ParamGroupForeachOptimizer):
    """Stochastic gradient descent, with or without momentum.

    >>> from millrace.experimental.optim import SGD
    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> SGD([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    state_names = ("accum", "stat")

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_argument_type(lr, "lr", "SGD", float, int, Tensor)
        if lr < 0.0:
            raise ArgumentValueError(f"Invalid learning rate: {lr}")
        check_argument_type(momentum, "momentum", "SGD", int, float)
        if momentum < 0.0:
            raise ArgumentValueError(f"Invalid momentum value: {momentum}")
        check_argument_type(dampening, "dampening", "SGD", int, float)
        check_argument_type(nesterov, "nesterov", "SGD", bool)
        check_argument_type(maximize, "maximize", "SGD", bool)
        check_nesterov(nesterov, momentum, dampening)
        options = {"momentum": float(momentum), "dampening": float(dampening), "weight_decay": weight_decay}
        flags = {"nesterov": nesterov, "maximize": maximize, "grad_centralization": False}
        super().__init__(params, {"lr": lr, **options, **flags})
        self.accum = self.parameters.clone(prefix="accum", init="zeros")
        self.stat = self.parameters.clone(prefix="stat", init="ones")

    def begin_step(self) -> None:
        """No effect: there is no step counter."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        accum, stat = states
        if not group["momentum"]:
            gradient_descent_step(params, grads, lr)
            return
        parts: Tensors | float = 1.0
        if group["dampening"]:
            parts = foreach.mul(stat, group["dampening"])
            foreach.add_(parts, 1.0 - group["dampening"])
        foreach.zero_(stat)
        momentum_step(params, grads, accum, lr, group["momentum"], group["nesterov"], parts)


@public("nn")
class SGD(ForeachOptimizer):
    """Stochastic gradient descent. With `momentum` as :class:`Momentum`, where ``v`` is the gradient in the
    first step and ``momentum * v + (1 - dampening) * g`` later.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> SGD([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    state_names = ("accum", "stat")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: Any = 0.0,
        nesterov: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        for name, value in (("momentum", momentum), ("dampening", dampening)):
            if not isinstance(value, (float, int)):
                raise ArgumentTypeError(
                    f"For 'SGD', the argument '{name}' must be float type, but got {type(value)}."
                )
            if value < 0.0:
                raise ArgumentValueError(
                    f"For 'SGD', the argument '{name}' must be at least 0.0, but got {float(value)}."
                )
        check_argument_type(nesterov, "nesterov", "SGD", bool)
        if nesterov and (momentum <= 0.0 or dampening != 0.0):
            raise ArgumentValueError(
                "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must equal to 0.0, but got "
                f"'momentum' {float(momentum)}, 'dampening' {float(dampening)}."
            )
        self.dampening, self.nesterov = float(dampening), nesterov
        self._moves = momentum > 0.0
        self.momentum = Parameter(Tensor(float(momentum), float32), name="momentum")
        self.accum = self._parameters.clone(prefix="accum", init="zeros")
        self.stat = self._parameters.clone(prefix="stat", init="ones")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        accum, stat = states
        if not self._moves:
            gradient_descent_step(params, grads, lr)
            return
        parts: Tensors | float = 1.0
        if self.dampening:  # `stat` is 1 in the first step, which applies no dampening: accum is 0 then
            parts = foreach.mul(stat, self.dampening)
            foreach.add_(parts, 1.0 - self.dampening)
        foreach.zero_(stat)
        momentum_step(params, grads, accum, lr, self.momentum._torch, self.nesterov, parts)


@public("mint.optim:SGD")
@public_name("SGD")
class MintSGD(ParamGroupForeachOptimizer):
    """PyTorch's SGD, with or without momentum. It uses the rate that schedulers set.

    >>> from millrace.mint.optim import SGD
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> SGD([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    state_names = ("momentum_buf",)

    def __init__(
        self,
        params: Any,
        lr: Any,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_argument_type(lr, "lr", "SGD", float, int, bool, Tensor)
        for name, value in (("momentum", momentum), ("weight_decay", weight_decay), ("dampening", dampening)):
            check_argument_type(value, name, "SGD", float, int, bool)
        for name, flag in (("nesterov", nesterov), ("maximize", maximize)):
            check_argument_type(flag, name, "SGD", bool)
        for name, value in (
            ("learning rate", lr),
            ("momentum value", momentum),
            ("weight_decay value", weight_decay),
        ):
            if value < 0.0:
                raise ArgumentValueError(f"Invalid {name}: {value}")
        check_nesterov(nesterov, momentum, dampening)
        options = {"momentum": momentum, "weight_decay": weight_decay, "dampening": dampening}
        super().__init__(params, {"lr": lr, **options, "nesterov": nesterov, "maximize": maximize})
        self.momentum_buf = self.parameters.clone(prefix="momentum_buf", init="zeros")
        self._create_step_counter()

    def begin_step(self) -> None:
        """No effect: the first step has number 0."""

    def end_step(self) -> None:
        self.step_t._torch.add_(1)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        if not group["momentum"]:
            gradient_descent_step(params, grads, lr)
            return
        parts: Tensors | float = 1.0
        if group["dampening"]:  # the first step applies no dampening
            part = torch.where(self.step_number() == 0, 1.0, 1.0 - group["dampening"])
            parts = [part] * len(params)
        momentum_step(params, grads, states[0], lr, float(group["momentum"]), group["nesterov"], parts)

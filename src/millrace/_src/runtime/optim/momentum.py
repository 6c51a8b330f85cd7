"""Momentum, and plain descent with or without it."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_kind
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors, gradient_descent_step, momentum_step

__all__ = ["SGD", "Momentum"]


class Momentum(ForeachOptimizer):
    """``v = momentum * v + g``, then ``p -= lr * v``; with Nesterov's change ``p -= lr * (g + momentum * v)``.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = Momentum([weight], learning_rate=0.5, momentum=0.9)
    >>> optimizer((Tensor([1.0, -1.0]),))
    (True,)
    >>> weight.asnumpy().tolist(), optimizer.moments[0].name
    ([0.5, 2.5], 'moments.weight')
    """

    state_names = ("moments",)

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        momentum: float,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_kind(momentum, "momentum", "Momentum", float)
        if momentum < 0.0:
            raise ArgumentValueError(
                f"For 'Momentum', the argument 'momentum' must be at least 0.0, but got {momentum}"
            )
        if not isinstance(use_nesterov, bool):
            raise ArgumentTypeError(f"The input value must be a bool, but got {type(use_nesterov).__name__}.")
        self.momentum = Parameter(Tensor(momentum, float32), name="momentum")
        self.params, self.use_nesterov = self._parameters, use_nesterov
        self.moments = self._parameters.clone(prefix="moments", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        momentum_step(params, grads, slots[0], lr, self.momentum._torch, self.use_nesterov)


class SGD(ForeachOptimizer):
    """Descent. With `momentum` as :class:`Momentum`, whose first step is the gradient and later ones
    ``momentum * v + (1 - dampening) * g``.

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
        check_kind(nesterov, "nesterov", "SGD", bool)
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

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        accum, stat = slots
        if not self._moves:
            gradient_descent_step(params, grads, lr)
            return
        parts: Tensors | float = 1.0
        if (
            self.dampening
        ):  # `stat` is 1 until the first step, which takes the gradient undamped: accum is 0 then
            parts = foreach.mul(stat, self.dampening)
            foreach.add_(parts, 1.0 - self.dampening)
        foreach.zero_(stat)
        momentum_step(params, grads, accum, lr, self.momentum._torch, self.nesterov, parts)

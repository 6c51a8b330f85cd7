"""Momentum with MindSpore's arguments."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.tensor.parameter import Parameter

from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors, momentum_step

__all__ = ["Momentum"]


@public("nn")
class Momentum(ForeachOptimizer):
    """Momentum: ``v = momentum * v + g``, then ``p -= lr * v``; with Nesterov momentum ``p -= lr * (g +
    momentum * v)``.

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
        check_argument_type(momentum, "momentum", "Momentum", float)
        if momentum < 0.0:
            raise ArgumentValueError(
                f"For 'Momentum', the argument 'momentum' must be at least 0.0, but got {momentum}"
            )
        if not isinstance(use_nesterov, bool):
            raise ArgumentTypeError(f"The input value must be a bool, but got {type(use_nesterov).__name__}.")
        self.momentum = Parameter(Tensor(momentum, float32), name="momentum")
        self.params, self.use_nesterov = self._parameters, use_nesterov
        self.moments = self._parameters.clone(prefix="moments", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        momentum_step(params, grads, states[0], lr, self.momentum._torch, self.use_nesterov)

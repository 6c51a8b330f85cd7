"""Optimizers that divide a gradient by a running root of its squares: Adagrad, RMSProp, Adadelta, AdaMax and others."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_float, check_kind
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach

from .foreach_optimizer import ForeachOptimizer

__all__ = ["Adagrad", "ExperimentalAdagrad"]


class _FloatOptionsOptimizer(ForeachOptimizer):
    """Takes options that are floats of 0 or more."""

    def _take(self, zero: bool = True, **numbers: Any) -> None:
        owner = type(self).__name__
        for name, value in numbers.items():
            check_kind(value, name, owner, float)
            check_float(value, name, owner, zero=zero)
            setattr(self, name, value)
        self._store_float32(**numbers)

    def _filled(self, prefix: str, value: float) -> Any:
        return self._parameters.clone(prefix=prefix, init=value)


@public("nn")
class Adagrad(_FloatOptionsOptimizer):
    """``sum += g * g``, then ``p -= lr * g / sqrt(sum)``; the sum begins at `accum`.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adagrad([weight], accum=3.0, learning_rate=1.0)((Tensor([1.0, -1.0]),))
    (True,)
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    state_names = ("accum",)

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        update_slots: bool = True,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        check_kind(accum, "accum", "Adagrad", float)
        self.update_slots = check_kind(update_slots, "update_slots", "Adagrad", bool)
        check_float(accum, "accum", "Adagrad", zero=True)
        self.accum = self._filled("accum", accum)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        (accum,) = slots
        if self.update_slots:
            foreach.addcmul_(accum, grads, grads)
        below = foreach.sqrt(accum)
        foreach.div_(below, -lr)
        foreach.addcdiv_(params, grads, below)


@public("experimental.optim:Adagrad")
class ExperimentalAdagrad(ParamGroupForeachOptimizer):
    """The gradient divided by the root of the sum of its squares; the rate shrinks by `lr_decay`.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalAdagrad([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("accum",)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        check_greater(lr, "lr", "Adagrad")
        check_greater(lr_decay, "lr_decay", "Adagrad", equal=True)
        check_greater(weight_decay, "weight_decay", "Adagrad", equal=True)
        check_greater(initial_accumulator_value, "initial_accumulator_value", "Adagrad", equal=True)
        check_greater(eps, "eps", "Adagrad")
        options = {"lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        start = {"initial_accumulator_value": initial_accumulator_value}
        super().__init__(params, {"lr": lr, **options, **start, "maximize": maximize})
        self.accum = self.parameters.clone(prefix="accum", init=initial_accumulator_value)
        self._count()

    def advance(self) -> None:
        """The first step is number 0."""

    def end_step(self) -> None:
        self.step_t._torch.add_(1)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        (accum,) = slots
        foreach.addcmul_(accum, grads, grads)
        below = foreach.sqrt(accum)
        foreach.add_(below, group["eps"])
        foreach.div_(below, -lr / (1 + self.step_number() * group["lr_decay"]))
        foreach.addcdiv_(params, grads, below)

"""Adagrad: adaptive learning rates from accumulated squared gradients."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach

from .foreach_optimizer import ForeachOptimizer

__all__ = ["Adagrad", "ExperimentalAdagrad"]


class _FloatOptionsOptimizer(ForeachOptimizer):
    """An optimizer with non-negative float options."""

    def _set_options(self, zero: bool = True, **numbers: Any) -> None:
        owner = type(self).__name__
        for name, value in numbers.items():
            check_argument_type(value, name, owner, float)
            check_float(value, name, owner, zero=zero)
            setattr(self, name, value)
        self._store_float32(**numbers)

    def _clone_filled(self, prefix: str, value: float) -> Any:
        return self._parameters.clone(prefix=prefix, init=value)


@public("nn")
class Adagrad(_FloatOptionsOptimizer):
    """Adagrad: ``sum += g * g``, then ``p -= lr * g / sqrt(sum)``; `accum` is the initial sum.

    >>> from millrace import Parameter, Tensor
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
        check_argument_type(accum, "accum", "Adagrad", float)
        self.update_slots = check_argument_type(update_slots, "update_slots", "Adagrad", bool)
        check_float(accum, "accum", "Adagrad", zero=True)
        self.accum = self._clone_filled("accum", accum)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        (accum,) = states
        if self.update_slots:
            foreach.addcmul_(accum, grads, grads)
        denominator = foreach.sqrt(accum)
        foreach.div_(denominator, -lr)
        foreach.addcdiv_(params, grads, denominator)


@public("experimental.optim:Adagrad")
@public_name("Adagrad")
class ExperimentalAdagrad(ParamGroupForeachOptimizer):
    """Adagrad: the gradient divided by the root of the sum of its squares; the rate decays by `lr_decay`.

    >>> from millrace.experimental.optim import Adagrad
    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adagrad([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    state_names = ("accum",)

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
        self._create_step_counter()

    def begin_step(self) -> None:
        """No effect: the first step has number 0."""

    def end_step(self) -> None:
        self.step_t._torch.add_(1)

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        (accum,) = states
        foreach.addcmul_(accum, grads, grads)
        denominator = foreach.sqrt(accum)
        foreach.add_(denominator, group["eps"])
        foreach.div_(denominator, -lr / (1 + self.step_number() * group["lr_decay"]))
        foreach.addcdiv_(params, grads, denominator)

"""Rprop (resilient backpropagation)."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_fraction
from millrace._src.runtime.optim.arguments import public_name
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach

from .foreach_optimizer import ForeachOptimizer

__all__ = ["ExperimentalRprop", "Rprop", "rprop_step"]


def _check_pair(value: Any, name: str) -> None:
    if not isinstance(value, tuple):
        raise ArgumentTypeError(f"For Rprop, {name} must be a tuple, but got {type(value)}.")
    if len(value) != 2:
        raise ArgumentValueError(
            f"For Rprop, {name} must be a tuple with the size of 2, but got {len(value)}."
        )


@public("nn")
class Rprop(ForeachOptimizer):
    """Rprop: each element has a step size; `etas` are its factors when the gradient's sign changes and when
    it does not.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = Rprop([weight], learning_rate=0.5)
    >>> _ = optimizer((Tensor([1.0, -1.0]),)), optimizer((Tensor([2.0, 1.0]),))
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [-0.1, 2.5]
    """

    state_names = ("prev", "step_size")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        _check_pair(etas, "etas")
        _check_pair(step_sizes, "step_sizes")
        if step_sizes[0] > step_sizes[1]:
            raise ArgumentValueError(
                "For Rprop, maximal step size should not be less than minimal step size, but got "
                f"{step_sizes[0]} > {step_sizes[1]}."
            )
        check_fraction(etas[0], "etaminus", "Rprop")
        check_argument_type(etas[1], "etaplus", "Rprop", float)
        if etas[1] <= 1.0:
            raise ArgumentValueError(
                f"For Rprop, etaplus must be greater than 1.0, but got etaplus {etas[1]}."
            )
        check_argument_type(step_sizes[0], "min_step_sizes", "Rprop", float)
        check_argument_type(step_sizes[1], "max_step_sizes", "Rprop", float)
        self.etaminus, self.etaplus = etas
        self.step_size_min, self.step_size_max = step_sizes
        self.prev = self._parameters.clone(prefix="prev", init="zeros")
        self.step_size = self._parameters.clone(prefix="step_size", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        first = self.global_step._torch.reshape(()) == 1
        etas, limits = (self.etaminus, self.etaplus), (self.step_size_min, self.step_size_max)
        rprop_step(params, grads, states[0], states[1], lr, first, etas, limits)


def rprop_step(
    params: Tensors,
    grads: Tensors,
    before: Tensors,
    sizes: Tensors,
    lr: torch.Tensor,
    first: torch.Tensor,
    etas: tuple[float, float],
    limits: tuple[float, float],
) -> None:
    """Rprop: steps by the sign of the gradient, whose size grows while the sign is unchanged and shrinks when
    it changes.
    """
    turns = foreach.mul(grads, before)
    for param, grad, kept, size, turn in zip(params, grads, before, sizes, turns, strict=True):
        factor = torch.where(turn > 0, etas[1], torch.where(turn < 0, etas[0], 1.0))
        size.copy_(torch.where(first, lr, size) * factor)
        size.clamp_(*limits)
        kept.copy_(torch.where(turn < 0, 0.0, grad))
        param.addcmul_(kept.sign(), size, value=-1)


@public("experimental.optim:Rprop")
@public_name("Rprop")
class ExperimentalRprop(ParamGroupForeachOptimizer):
    """Rprop: steps by the sign of the gradient, whose size grows while the sign is unchanged and shrinks when
    it changes.

    >>> from millrace.experimental.optim import Rprop
    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Rprop([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    state_names = ("prev", "step_size")
    has_coupled_weight_decay = False  # no weight decay: only signs are used

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        maximize: bool = False,
    ) -> None:
        check_greater(lr, "lr", "Rprop")
        check_greater(etas[1], "etas[1]", "Rprop", 1.0)
        check_fraction(etas[0], "etas[0]", "Rprop")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})
        self.prev = self.parameters.clone(prefix="prev", init="zeros")
        self.step_size = self.parameters.clone(prefix="step_size", init="zeros")
        self._create_step_counter()

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        first = self.step_number() == 1
        rprop_step(params, grads, states[0], states[1], lr, first, group["etas"], group["step_sizes"])

"""Descent, and optimizers that divide by running squares or go by signs, with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_fraction, check_kind
from millrace._src.runtime.optim.param_group_optimizer import (
    ParamGroupForeachOptimizer,
    ParamGroupOptimizer,
    check_greater,
)
from millrace._src.runtime.optim.update_rules import (
    Tensors,
    adadelta_step,
    asgd_step,
    gradient_descent_step,
    momentum_step,
    rprop_step,
)
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = [
    "ExperimentalASGD",
    "ExperimentalSGD",
    "ExperimentalAdadelta",
    "ExperimentalAdagrad",
    "ParamGroupOptimizer",
    "RMSprop",
    "ExperimentalRprop",
]


def check_nesterov(nesterov: bool, momentum: float, dampening: float) -> None:
    """Looking ahead needs a momentum, undamped."""
    if nesterov and (momentum <= 0.0 or dampening != 0.0):
        raise ArgumentValueError(
            "For 'SGD', if 'nesterov' is true, 'momentum' must be > 0.0 and 'dampening' must equal to 0.0, but got "
            f"'momentum' {momentum}, 'dampening' {dampening}"
        )


class ExperimentalSGD(ParamGroupForeachOptimizer):
    """Descent, with momentum or without.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalSGD([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    slots = ("accum", "stat")

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
        check_kind(lr, "lr", "SGD", float, int, Tensor)
        if lr < 0.0:
            raise ArgumentValueError(f"Invalid learning rate: {lr}")
        check_kind(momentum, "momentum", "SGD", int, float)
        if momentum < 0.0:
            raise ArgumentValueError(f"Invalid momentum value: {momentum}")
        check_kind(dampening, "dampening", "SGD", int, float)
        check_kind(nesterov, "nesterov", "SGD", bool)
        check_kind(maximize, "maximize", "SGD", bool)
        check_nesterov(nesterov, momentum, dampening)
        options = {"momentum": float(momentum), "dampening": float(dampening), "weight_decay": weight_decay}
        flags = {"nesterov": nesterov, "maximize": maximize, "grad_centralization": False}
        super().__init__(params, {"lr": lr, **options, **flags})
        self.accum = self.parameters.clone(prefix="accum", init="zeros")
        self.stat = self.parameters.clone(prefix="stat", init="ones")

    def advance(self) -> None:
        """There is nothing to count."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        accum, stat = slots
        if not group["momentum"]:
            gradient_descent_step(params, grads, lr)
            return
        parts: Tensors | float = 1.0
        if group["dampening"]:
            parts = foreach.mul(stat, group["dampening"])
            foreach.add_(parts, 1.0 - group["dampening"])
        foreach.zero_(stat)
        momentum_step(params, grads, accum, lr, group["momentum"], group["nesterov"], parts)


class ExperimentalAdadelta(ParamGroupForeachOptimizer):
    """A step has the size of earlier steps in the ratio of the gradient to earlier gradients.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalAdadelta([weight])((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("accum", "accum_update")

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
        check_kind(rho, "rho", "Adadelta", float)
        if not 0.0 <= rho <= 1.0:
            raise ArgumentValueError(
                f"For 'Adadelta', the 'rho' must be in range of [0.0, 1.0], but got {rho} with type 'float'."
            )
        super().__init__(
            params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )
        self.accum = self.parameters.clone(prefix="accum", init="zeros")
        self.accum_update = self.parameters.clone(prefix="accum_update", init="zeros")

    def advance(self) -> None:
        """There is nothing to count."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        adadelta_step(params, grads, slots[0], slots[1], lr, group["rho"], group["eps"])


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


class ExperimentalASGD(ParamGroupForeachOptimizer):
    """Descent whose steps shrink, with a mean of where it has been, from step `t0` on.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalASGD([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    """

    slots = ("mu", "eta", "ax")

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
        self.mu, self.eta = self._numbers("mu_", 1.0), self._numbers("eta_", 0.0)
        self.ax = self.parameters.clone(prefix="ax", init="zeros")
        self._count()

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        step = self.step_number()
        asgd_step(
            params, grads, slots[0], slots[1], slots[2], lr, step, group["lambd"], group["alpha"], group["t0"]
        )


class RMSprop(ParamGroupForeachOptimizer):
    """The gradient divided by the root of its running mean square, which begins at 0.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> RMSprop([weight])((Tensor([1.0, -1.0]),))
    True
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.9, 2.1]
    """

    slots = ("mean_square", "mean_grad", "moment")

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        maximize: bool = False,
    ) -> None:
        check_greater(lr, "lr", "RMSprop")
        check_greater(eps, "eps", "RMSprop")
        for name, value in (("alpha", alpha), ("momentum", momentum), ("weight_decay", weight_decay)):
            check_greater(value, name, "RMSprop", equal=True)
        options = {"momentum": momentum, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {"lr": lr, **options, "centered": centered, "maximize": maximize})
        self.mean_grad = self.parameters.clone(prefix="mean_grad", init="zeros")
        self.mean_square = self.parameters.clone(prefix="mean_square", init="zeros")
        self.moment = self.parameters.clone(prefix="moment", init="zeros")

    def advance(self) -> None:
        """There is nothing to count."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        squares, means, moments = slots
        rate = 1 - group["alpha"]
        foreach.mul_(squares, group["alpha"])
        foreach.addcmul_(squares, grads, grads, value=rate)
        below = squares
        if group["centered"]:
            foreach.lerp_(means, grads, rate)
            below = foreach.addcmul(squares, means, means, value=-1)
        below = foreach.sqrt(below)
        foreach.add_(below, group["eps"])
        if group["momentum"] > 0:
            foreach.mul_(moments, group["momentum"])
            foreach.addcdiv_(moments, grads, below)
            gradient_descent_step(params, moments, lr)
        else:
            foreach.div_(below, -lr)
            foreach.addcdiv_(params, grads, below)


class ExperimentalRprop(ParamGroupForeachOptimizer):
    """Steps by the sign of a gradient, whose size grows while the sign stays and shrinks when it turns.

    >>> from millrace import Parameter
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ExperimentalRprop([weight], lr=0.5)((Tensor([1.0, -1.0]),))
    True
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    slots = ("prev", "step_size")
    decays_gradients = False  # it takes no weight decay, and looks at signs only

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
        self._count()

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any
    ) -> None:
        first = self.step_number() == 1
        rprop_step(params, grads, slots[0], slots[1], lr, first, group["etas"], group["step_sizes"])

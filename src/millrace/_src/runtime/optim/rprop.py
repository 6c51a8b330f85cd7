"""Rprop and averaged descent: optimizers for few, large batches."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_fraction, check_kind
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors, asgd_step, rprop_step

__all__ = ["ASGD", "Rprop"]


def _pair(value: Any, name: str) -> None:
    if not isinstance(value, tuple):
        raise ArgumentTypeError(f"For Rprop, {name} must be a tuple, but got {type(value)}.")
    if len(value) != 2:
        raise ArgumentValueError(
            f"For Rprop, {name} must be a tuple with the size of 2, but got {len(value)}."
        )


class Rprop(ForeachOptimizer):
    """Each element has a step size: `etas` says how it shrinks when the gradient's sign changes, and grows when not.

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
        _pair(etas, "etas")
        _pair(step_sizes, "step_sizes")
        if step_sizes[0] > step_sizes[1]:
            raise ArgumentValueError(
                "For Rprop, maximal step size should not be less than minimal step size, but got "
                f"{step_sizes[0]} > {step_sizes[1]}."
            )
        check_fraction(etas[0], "etaminus", "Rprop")
        check_kind(etas[1], "etaplus", "Rprop", float)
        if etas[1] <= 1.0:
            raise ArgumentValueError(
                f"For Rprop, etaplus must be greater than 1.0, but got etaplus {etas[1]}."
            )
        check_kind(step_sizes[0], "min_step_sizes", "Rprop", float)
        check_kind(step_sizes[1], "max_step_sizes", "Rprop", float)
        self.etaminus, self.etaplus = etas
        self.step_size_min, self.step_size_max = step_sizes
        self.prev = self._parameters.clone(prefix="prev", init="zeros")
        self.step_size = self._parameters.clone(prefix="step_size", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        first = self.global_step._torch.reshape(()) == 1
        etas, limits = (self.etaminus, self.etaplus), (self.step_size_min, self.step_size_max)
        rprop_step(params, grads, slots[0], slots[1], lr, first, etas, limits)


class ASGD(ForeachOptimizer):
    """Descent whose steps shrink, with a mean of where it has been in `ax`, from step `t0` on.

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
            check_kind(value, name, "ASGD", float)
        self.lambd, self.alpha, self.t0 = lambd, alpha, t0
        self.mu = self._numbers("mu_", 1.0)
        self.eta = self._numbers("eta_", 0.0)
        self.ax = self._parameters.clone(prefix="ax_", init="zeros")

    def _numbers(self, prefix: str, value: float) -> ParameterTuple:
        """A number for each parameter."""
        return ParameterTuple(
            Parameter(Tensor(value, float32), name=prefix + param.name) for param in self._parameters
        )

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        step = self.global_step._torch.reshape(()).to(torch.float32)
        asgd_step(params, grads, slots[0], slots[1], slots[2], lr, step, self.lambd, self.alpha, self.t0)

"""FTRL (follow the regularized leader)."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float
from millrace._src.runtime.optim.adagrad import _FloatOptionsOptimizer
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["FTRL"]


@public("nn")
class FTRL(_FloatOptionsOptimizer):
    """Follow the regularized leader. A sparse gradient updates only its rows. The learning rate is one
    number.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> FTRL([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.2218, 1.8737]
    """

    state_names = ("moments", "linear")
    supports_sparse_gradients = _target_is_settable = True

    def __init__(
        self,
        params: Any,
        initial_accum: float = 0.1,
        learning_rate: float = 0.001,
        lr_power: float = -0.5,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if self.dynamic_lr or self.is_group_lr:
            raise ArgumentValueError(
                "For 'FTRL', dynamic learning rate and group learning rate are currently not supported in FTRL, they "
                f"should all be false, but got dynamic learning rate {self.dynamic_lr} and group learning rate "
                f"{self.is_group_lr}."
            )
        if not isinstance(learning_rate, float):
            raise ArgumentTypeError(
                "For 'FTRL', the type of 'learning_rate' should be 'float', but got type "
                f"'{type(learning_rate).__name__}'."
            )
        check_float(learning_rate, "learning_rate", "FTRL")
        self._set_options(l1=l1, l2=l2, initial_accum=initial_accum)
        check_argument_type(lr_power, "lr_power", "FTRL", float)
        if lr_power > 0:
            raise ArgumentValueError(
                f"For 'FTRL', the 'lr_power' must be less than or equal to 0, but got {lr_power}."
            )
        self.use_locking = check_argument_type(use_locking, "use_locking", "FTRL", bool)
        self.lr, self.lr_power = learning_rate, lr_power
        self._store_float32(power=-lr_power)
        self.moments = self._clone_filled("moments", initial_accum)
        self.linear = self._parameters.clone(prefix="linear", init="zeros")
        if not self.is_group:
            self.decay_flags = (True,) * self.param_length

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        moments, linear = states
        before = foreach.pow(moments, self._power)
        foreach.addcmul_(moments, grads, grads)
        after = foreach.pow(moments, self._power)
        foreach.div_(after, lr)
        foreach.div_(before, lr)
        foreach.sub_(before, after)
        foreach.addcmul_(linear, before, params)
        foreach.add_(linear, grads)
        # soft thresholding by l1; MindSpore's CPU kernel has the right sign only where `linear` is above 0
        shrunk = foreach.abs(linear)
        foreach.sub_(shrunk, self._l1)
        foreach.clamp_min_(shrunk, 0)
        foreach.mul_(shrunk, foreach.sign(linear))
        foreach.add_(after, 2 * self._l2)
        foreach.div_(shrunk, after)
        foreach.copy_(params, foreach.neg(shrunk))

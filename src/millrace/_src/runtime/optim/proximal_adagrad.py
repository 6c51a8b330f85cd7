"""Proximal Adagrad."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float
from millrace._src.runtime.optim.adagrad import _FloatOptionsOptimizer
from millrace._src.runtime.optim.update_rules import Tensors
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["ProximalAdagrad"]


@public("nn")
class ProximalAdagrad(_FloatOptionsOptimizer):
    """Proximal Adagrad: Adagrad with `l1` and `l2` regularization. A sparse gradient updates only its rows.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> ProximalAdagrad([weight], accum=3.0, learning_rate=1.0, l1=0.2)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.4, 2.4]
    """

    state_names = ("accum",)
    supports_sparse_gradients = _target_is_settable = True

    def __init__(
        self,
        params: Any,
        accum: float = 0.1,
        learning_rate: Any = 0.001,
        l1: float = 0.0,
        l2: float = 0.0,
        use_locking: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(l1=l1, l2=l2)
        self.use_locking = check_argument_type(use_locking, "use_locking", "ProximalAdagrad", bool)
        check_argument_type(accum, "accum", "ProximalAdagrad", float)
        check_float(accum, "accum", "ProximalAdagrad", zero=True)
        self.accum = self._clone_filled("accum", accum)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        (accum,) = states
        foreach.addcmul_(accum, grads, grads)
        rates = foreach.sqrt(accum)
        foreach.reciprocal_(rates)
        foreach.mul_(rates, lr)
        foreach.addcmul_(params, grads, rates, value=-1)
        if self._l1:
            signs = foreach.sign(params)
            foreach.abs_(params)
            foreach.add_(params, rates, alpha=-self._l1)
            foreach.clamp_min_(params, 0)
            foreach.mul_(params, signs)
        if self._l2:
            foreach.mul_(rates, self._l2)
            foreach.add_(rates, 1)
            foreach.div_(params, rates)

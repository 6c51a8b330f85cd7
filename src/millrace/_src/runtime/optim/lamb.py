"""Lamb: layer-wise adaptive moments for very large batches."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.tensor.backend.torch_private import foreach

from .adam import _MomentOptimizer
from .update_rules import Tensors, update_moments

__all__ = ["Lamb"]


@public("nn")
class Lamb(_MomentOptimizer):
    """Lamb: Adam with bias correction, whose step is scaled by the ratio of parameter norm to step norm.

    ``r = m_hat / (sqrt(v_hat) + eps) + weight_decay * p``, then ``p -= lr * |p| / |r| * r``; if a norm is 0
    the ratio is 1. MindSpore has no CPU kernel for it: this is the formula of the paper, "Large Batch
    Optimization for Deep Learning".

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([3.0, 4.0]), name="weight")
    >>> Lamb([weight], learning_rate=0.1)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [2.6464, 4.3536]
    """

    state_names = ("moments1", "moments2")
    has_coupled_weight_decay = False
    _support_parallel_optimizer = True

    def __init__(
        self,
        params: Any,
        learning_rate: Any,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self._set_options(beta1, beta2, eps)
        self.params = self._parameters
        self.moments1 = self._parameters.clone(prefix="lamb_m", init="zeros")
        self.moments2 = self._parameters.clone(prefix="lamb_v", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        first, second = states
        update_moments(grads, first, second, self._beta1, self._beta2)
        step = self.global_step._torch.reshape(()).to(torch.float32)
        denominator = foreach.div(second, 1 - self._beta2**step)
        foreach.sqrt_(denominator)
        foreach.add_(denominator, self._eps)
        steps = foreach.div(first, 1 - self._beta1**step)
        foreach.div_(steps, denominator)
        if self._decoupled_weight_decay is not None:
            foreach.add_(steps, foreach.mul(params, self._decoupled_weight_decay))
        param_norms, step_norms = foreach.norm(params), foreach.norm(steps)
        rates = [
            lr * torch.where((size > 0) & (length > 0), size / length, 1.0)
            for size, length in zip(param_norms, step_norms, strict=True)
        ]
        foreach.addcmul_(params, steps, rates, value=-1)

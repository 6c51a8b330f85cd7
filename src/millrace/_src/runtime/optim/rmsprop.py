"""RMSProp."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.public import public
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.adagrad import _FloatOptionsOptimizer
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupForeachOptimizer, check_greater
from millrace._src.runtime.optim.update_rules import Tensors, gradient_descent_step
from millrace._src.runtime.tensor.backend.torch_private import foreach

__all__ = ["RMSProp", "RMSprop"]


@public("nn")
class RMSProp(_FloatOptionsOptimizer):
    """RMSProp: ``m = momentum * m + lr * g / sqrt(mean(g * g) + epsilon)``, then ``p -= m``; the initial mean
    is 1.

    With `centered` the square of the mean gradient is subtracted from the mean square.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> RMSProp([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.1,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(decay=decay, momentum=momentum)
        self._set_options(zero=False, epsilon=epsilon)
        check_argument_type(use_locking, "use_locking", "RMSProp", bool)
        self.centered = check_argument_type(centered, "centered", "RMSProp", bool)
        self.state_names = ("ms", "moment", "mg") if centered else ("ms", "moment")
        if centered:
            self.mg = self._parameters.clone(prefix="mean_grad", init="zeros")
        self.ms = self._parameters.clone(prefix="mean_square", init="ones")
        self.moment = self._parameters.clone(prefix="moment", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        squares, moment = states[:2]
        rate = 1 - self._decay
        foreach.mul_(squares, 1 - rate)
        foreach.addcmul_(squares, grads, grads, value=rate)
        if self.centered:
            (mean,) = states[2:]
            foreach.mul_(mean, 1 - rate)
            foreach.add_(mean, grads, alpha=rate)
            denominator = foreach.add(squares, self._epsilon)
            foreach.addcmul_(denominator, mean, mean, value=-1)
            # rounding may make a variance negative: these elements are not updated, as in MindSpore
            positive = [each > 0 for each in denominator]
            foreach.sqrt_(denominator)
            steps = foreach.mul(grads, lr)
            foreach.div_(steps, denominator)
            foreach.add_(steps, moment, alpha=self._momentum)
            for moment_tensor, step, is_positive in zip(moment, steps, positive, strict=True):
                moment_tensor.copy_(torch.where(is_positive, step, moment_tensor))
            foreach.sub_(params, [torch.where(p, s, 0.0) for p, s in zip(positive, steps, strict=True)])
            return
        denominator = foreach.add(squares, self._epsilon)
        foreach.sqrt_(denominator)
        foreach.div_(denominator, lr)
        foreach.mul_(moment, self._momentum)
        foreach.addcdiv_(moment, grads, denominator)
        foreach.sub_(params, moment)


@public("experimental.optim")
class RMSprop(ParamGroupForeachOptimizer):
    """RMSprop: the gradient divided by the root of its running mean square, which is initialized to 0.

    >>> from millrace import Parameter, Tensor
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> RMSprop([weight])((Tensor([1.0, -1.0]),))
    True
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.9, 2.1]
    """

    state_names = ("mean_square", "mean_grad", "moment")

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

    def begin_step(self) -> None:
        """No effect: there is no step counter."""

    def update(
        self, group: dict[str, Any], lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any
    ) -> None:
        squares, means, moments = states
        rate = 1 - group["alpha"]
        foreach.mul_(squares, group["alpha"])
        foreach.addcmul_(squares, grads, grads, value=rate)
        denominator = squares
        if group["centered"]:
            foreach.lerp_(means, grads, rate)
            denominator = foreach.addcmul(squares, means, means, value=-1)
        denominator = foreach.sqrt(denominator)
        foreach.add_(denominator, group["eps"])
        if group["momentum"] > 0:
            foreach.mul_(moments, group["momentum"])
            foreach.addcdiv_(moments, grads, denominator)
            gradient_descent_step(params, moments, lr)
        else:
            foreach.div_(denominator, -lr)
            foreach.addcdiv_(params, grads, denominator)

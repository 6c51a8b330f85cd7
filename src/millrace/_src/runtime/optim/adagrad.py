"""Optimizers that divide a gradient by a running root of its squares: Adagrad, RMSProp, Adadelta, AdaMax and others."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_float, check_kind
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

from .adam import _MomentOptimizer
from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors, adadelta_step

__all__ = ["FTRL", "AdaMax", "Adadelta", "Adagrad", "ProximalAdagrad", "RMSProp"]


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


class RMSProp(_FloatOptionsOptimizer):
    """``m = momentum * m + lr * g / sqrt(mean(g * g) + epsilon)``, then ``p -= m``; the mean begins at 1.

    With `centered` the square of the mean gradient is taken from the mean square.

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
        self._take(decay=decay, momentum=momentum)
        self._take(zero=False, epsilon=epsilon)
        check_kind(use_locking, "use_locking", "RMSProp", bool)
        self.centered = check_kind(centered, "centered", "RMSProp", bool)
        self.state_names = ("ms", "moment", "mg") if centered else ("ms", "moment")
        if centered:
            self.mg = self._parameters.clone(prefix="mean_grad", init="zeros")
        self.ms = self._parameters.clone(prefix="mean_square", init="ones")
        self.moment = self._parameters.clone(prefix="moment", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        squares, moment = slots[:2]
        rate = 1 - self._decay
        foreach.mul_(squares, 1 - rate)
        foreach.addcmul_(squares, grads, grads, value=rate)
        if self.centered:
            (mean,) = slots[2:]
            foreach.mul_(mean, 1 - rate)
            foreach.add_(mean, grads, alpha=rate)
            below = foreach.add(squares, self._epsilon)
            foreach.addcmul_(below, mean, mean, value=-1)
            # rounding may leave less than nothing of a variance: nothing moves there, as in MindSpore
            moves = [each > 0 for each in below]
            foreach.sqrt_(below)
            steps = foreach.mul(grads, lr)
            foreach.div_(steps, below)
            foreach.add_(steps, moment, alpha=self._momentum)
            for kept, step, place in zip(moment, steps, moves, strict=True):
                kept.copy_(torch.where(place, step, kept))
            foreach.sub_(params, [torch.where(p, s, 0.0) for p, s in zip(moves, steps, strict=True)])
            return
        below = foreach.add(squares, self._epsilon)
        foreach.sqrt_(below)
        foreach.div_(below, lr)
        foreach.mul_(moment, self._momentum)
        foreach.addcdiv_(moment, grads, below)
        foreach.sub_(params, moment)


class Adadelta(_FloatOptionsOptimizer):
    """A step has the size of earlier steps in the ratio of the gradient to earlier gradients.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> Adadelta([weight])((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 5) for number in weight.asnumpy().tolist()]
    [0.99684, 2.00316]
    """

    state_names = ("accum", "accum_update")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1.0,
        rho: float = 0.9,
        epsilon: float = 1e-6,
        loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._take(rho=rho, epsilon=epsilon)
        if rho > 1.0:
            raise ArgumentValueError(
                f"For 'Adadelta', the 'rho' must be in range of [0.0, 1.0], but got {rho} with type 'float'."
            )
        self.accum = self._parameters.clone(prefix="accum", init="zeros")
        self.accum_update = self._parameters.clone(prefix="accum_update", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        adadelta_step(params, grads, slots[0], slots[1], lr, self._rho, self._epsilon)


class AdaMax(_MomentOptimizer):
    """Adam with the largest gradient, which fades, in the place of the root of the second moment.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdaMax([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.5, 2.5]
    """

    state_names = ("moment1", "moment2")

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._take(beta1, beta2, eps)
        self.beta1_power = Parameter(Tensor([1.0]), name="beta1_power")
        self.moment1 = self._parameters.clone(prefix="moment1", init="zeros")
        self.moment2 = self._parameters.clone(prefix="moment2", init="zeros")

    def begin_step(self) -> None:
        self.beta1_power._torch.mul_(self._beta1)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        first, largest = slots
        foreach.lerp_(first, grads, 1 - self._beta1)
        foreach.mul_(largest, self._beta2)
        foreach.maximum_(largest, foreach.abs(grads))
        below = foreach.add(largest, self._eps)
        foreach.div_(below, -lr / (1 - self.beta1_power._torch.reshape(())))
        foreach.addcdiv_(params, first, below)


class ProximalAdagrad(_FloatOptionsOptimizer):
    """Adagrad, then towards 0 by `l1` and `l2`. A gradient of some rows changes those only.

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
        self._take(l1=l1, l2=l2)
        self.use_locking = check_kind(use_locking, "use_locking", "ProximalAdagrad", bool)
        check_kind(accum, "accum", "ProximalAdagrad", float)
        check_float(accum, "accum", "ProximalAdagrad", zero=True)
        self.accum = self._filled("accum", accum)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        (accum,) = slots
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


class FTRL(_FloatOptionsOptimizer):
    """Follow the regularised leader. A gradient of some rows changes those only. The learning rate is one number.

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
        self._take(l1=l1, l2=l2, initial_accum=initial_accum)
        check_kind(lr_power, "lr_power", "FTRL", float)
        if lr_power > 0:
            raise ArgumentValueError(
                f"For 'FTRL', the 'lr_power' must be less than or equal to 0, but got {lr_power}."
            )
        self.use_locking = check_kind(use_locking, "use_locking", "FTRL", bool)
        self.lr, self.lr_power = learning_rate, lr_power
        self._store_float32(power=-lr_power)
        self.moments = self._filled("moments", initial_accum)
        self.linear = self._parameters.clone(prefix="linear", init="zeros")
        if not self.is_group:
            self.decay_flags = (True,) * self.param_length

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *slots: Any) -> None:
        moments, linear = slots
        before = foreach.pow(moments, self._power)
        foreach.addcmul_(moments, grads, grads)
        after = foreach.pow(moments, self._power)
        foreach.div_(after, lr)
        foreach.div_(before, lr)
        foreach.sub_(before, after)
        foreach.addcmul_(linear, before, params)
        foreach.add_(linear, grads)
        # towards 0 by l1; with the right sign, which MindSpore's CPU kernel has only where `linear` is above 0
        near = foreach.abs(linear)
        foreach.sub_(near, self._l1)
        foreach.clamp_min_(near, 0)
        foreach.mul_(near, foreach.sign(linear))
        foreach.add_(after, 2 * self._l2)
        foreach.div_(near, after)
        foreach.copy_(params, foreach.neg(near))

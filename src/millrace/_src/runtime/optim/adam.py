"""Adam and its variants with MindSpore's formulas: `eps` is outside of the bias correction."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type, check_float, check_fraction
from millrace._src.runtime.tensor.backend.torch_private import foreach
from millrace._src.runtime.tensor.parameter import Parameter

from .foreach_optimizer import ForeachOptimizer
from .parameter_groups import GroupKeyError
from .update_rules import Tensors, update_moments

__all__ = ["Adam", "AdamOffload", "AdamWeightDecay", "LazyAdam"]


class _MomentOptimizer(ForeachOptimizer):
    """An optimizer with exponential moving averages of the gradients and of their squares."""

    def _set_options(self, beta1: Any, beta2: Any, eps: Any) -> None:
        owner = type(self).__name__
        for name, value in (("beta1", beta1), ("beta2", beta2), ("eps", eps)):
            check_argument_type(value, name, owner, float)
        check_fraction(beta1, "beta1", owner)
        check_fraction(beta2, "beta2", owner)
        check_float(eps, "eps", owner)
        self.beta1, self.beta2, self.eps = (
            Tensor(beta1, float32),
            Tensor(beta2, float32),
            Tensor(eps, float32),
        )
        self._store_float32(beta1=beta1, beta2=beta2, eps=eps)  # visible in 1 - beta2

    def _apply_adam_step(self, params: Tensors, steps: Tensors, second: Tensors, rate: torch.Tensor) -> None:
        """``p -= rate * step / (sqrt(second) + eps)``, with the rate in the denominator, which saves one
        pass.
        """
        denominator = foreach.sqrt(second)
        foreach.add_(denominator, self._eps)
        foreach.div_(denominator, -rate)
        foreach.addcdiv_(params, steps, denominator)


class _BiasCorrectedAdam(_MomentOptimizer):
    """Adam with bias-corrected moments."""

    state_names: tuple[str, ...] = ("moment1", "moment2")
    _target_is_settable = True
    # the shape of the powers of the betas, as MindSpore saves them
    powers: tuple[int, ...] = ()

    def _initialize_states(self, use_locking: Any, use_nesterov: Any) -> None:
        owner = type(self).__name__
        check_argument_type(use_locking, "use_locking", owner, bool)
        check_argument_type(use_nesterov, "use_nesterov", owner, bool)
        self.use_locking, self.use_nesterov = use_locking, use_nesterov
        for name in ("beta1_power", "beta2_power"):
            setattr(self, name, Parameter(Tensor(torch.ones(self.powers).numpy()), name=name))
        self.moment1 = self._parameters.clone(prefix="moment1", init="zeros")
        self.moment2 = self._parameters.clone(prefix="moment2", init="zeros")

    def begin_step(self) -> None:
        self.beta1_power._torch.mul_(self._beta1)
        self.beta2_power._torch.mul_(self._beta2)

    def _rate(self, lr: torch.Tensor) -> torch.Tensor:
        beta1_power, beta2_power = self.beta1_power._torch.reshape(()), self.beta2_power._torch.reshape(())
        return lr * torch.sqrt(1 - beta2_power) / (1 - beta1_power)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        first, second = states[:2]
        update_moments(grads, first, second, self._beta1, self._beta2)
        steps = first
        if self.use_nesterov:
            steps = foreach.mul(first, self._beta1)
            foreach.add_(steps, grads, alpha=1 - self._beta1)
        for largest in states[2:]:  # AMSGrad
            foreach.maximum_(largest, second)
            second = largest
        self._apply_adam_step(params, steps, second, self._rate(lr))


@public("nn")
class Adam(_BiasCorrectedAdam):
    """Adam: ``p -= lr * sqrt(1 - beta2**t) / (1 - beta1**t) * m / (sqrt(v) + eps)``.

    `use_amsgrad` divides by the largest `v` so far. `use_lazy` skips rows that a sparse gradient does not
    contain. `use_offload` stores the moments on the host in MindSpore; here they are on the device of the
    parameters.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = Adam([weight], learning_rate=0.5)
    >>> optimizer((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.5, 2.5]
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
        use_amsgrad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        if set(kwargs) - {"use_lazy", "use_offload"}:
            raise GroupKeyError(
                "For 'Adam', invalid keys are passed as kwargs, supported keys are 'use_lazy' and'use_offload', "
                f"but got {kwargs.keys()}. The others are learning_rate, beta1, beta2, eps, use_locking, use_nesterov, "
                "weight_decay, loss_scale and use_amsgrad."
            )
        use_lazy, use_offload = kwargs.get("use_lazy", False), kwargs.get("use_offload", False)
        self._set_options(beta1, beta2, eps)
        for name, value in (
            ("use_amsgrad", use_amsgrad),
            ("use_lazy", use_lazy),
            ("use_offload", use_offload),
        ):
            check_argument_type(value, name, "Adam", bool)
        if use_lazy and use_offload:
            raise ArgumentValueError(
                "For 'Adam', 'use_lazy' and 'use_offload' can not both be True."
                f"But got use_lazy={use_lazy}, use_offload={use_offload}."
            )
        if use_amsgrad and (use_lazy or use_offload):
            raise ArgumentValueError(
                "For lazy Adam and Adam with offload, there is no parameter named 'use_amsgrad'."
                f"but got 'use_amsgrad'={use_amsgrad}."
            )
        self._initialize_states(use_locking, use_nesterov)
        self.use_amsgrad, self.use_lazy, self.use_offload = use_amsgrad, use_lazy, use_offload
        self.supports_sparse_gradients = use_lazy
        if use_amsgrad:
            self.vhat = self._parameters.clone(prefix="vhat", init="zeros")
            self.state_names = ("moment1", "moment2", "vhat")


@public("nn")
class AdamOffload(_BiasCorrectedAdam):
    """:class:`Adam` under an older name; MindSpore stores its moments on the host.

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdamOffload([weight], learning_rate=0.5)((Tensor([1.0, -1.0]),))
    (True,)
    """

    powers = (1,)

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(beta1, beta2, eps)
        self._initialize_states(use_locking, use_nesterov)


@public("nn")
class LazyAdam(_BiasCorrectedAdam):
    """Lazy Adam: skips rows, and their moments, that a sparse gradient does not contain.

    >>> from millrace import RowTensor
    >>> table = Parameter(Tensor([[1.0], [2.0], [3.0]]), name="table")
    >>> LazyAdam([table], learning_rate=0.5)((RowTensor(Tensor([1]), Tensor([[1.0]]), (3, 1)),))
    (True,)
    >>> [round(number, 4) for number in table.asnumpy().ravel().tolist()]
    [1.0, 1.5, 3.0]
    """

    powers = (1,)
    supports_sparse_gradients = True

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        use_locking: bool = False,
        use_nesterov: bool = False,
        weight_decay: Any = 0.0,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._set_options(beta1, beta2, eps)
        self._initialize_states(use_locking, use_nesterov)


@public("nn")
class AdamWeightDecay(_MomentOptimizer):
    """Adam without bias correction and with decoupled weight decay.

    ``p -= lr * (m / (sqrt(v) + eps) + weight_decay * p)``

    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> AdamWeightDecay([weight], learning_rate=0.1, weight_decay=0.1)((Tensor([1.0, -1.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [0.6738, 2.2962]
    """

    state_names = ("moments1", "moments2")
    has_coupled_weight_decay = False
    _target_is_settable = _support_parallel_optimizer = True

    def __init__(
        self,
        params: Any,
        learning_rate: Any = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:
        super().__init__(learning_rate, params, weight_decay)
        self._set_options(beta1, beta2, eps)
        self.moments1 = self._parameters.clone(prefix="adam_m", init="zeros")
        self.moments2 = self._parameters.clone(prefix="adam_v", init="zeros")

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        first, second = states
        update_moments(grads, first, second, self._beta1, self._beta2)
        if self._decoupled_weight_decay is not None:
            foreach.mul_(params, 1 - lr * self._decoupled_weight_decay)
        self._apply_adam_step(params, first, second, lr)

"""LARS (layer-wise adaptive rate scaling)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.optim.optimizer import Optimizer
from millrace._src.runtime.optim.sparse_gradient import to_row_gradient, to_torch_gradient
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import unwrap, wrap

__all__ = ["LARS"]


def _not_norm_nor_bias(param: Parameter) -> bool:
    return "LayerNorm" not in param.name and "bias" not in param.name


@public("nn")
class LARS(Optimizer):
    """LARS: scales the gradients to the norm of each parameter before another optimizer applies them.

    A gradient becomes ``(g + weight_decay * p) * coefficient * |p| / (|g| + weight_decay * |p| + epsilon)``
    if `lars_filter` is True for its parameter. LARS also applies the weight decay of the inner optimizer.

    >>> from millrace._src.runtime.optim.momentum import Momentum
    >>> weight = Parameter(Tensor([3.0, 4.0]), name="weight")
    >>> LARS(Momentum([weight], 0.1, 0.9), coefficient=1.0)((Tensor([0.0, 2.0]),))
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().tolist()]
    [3.0, 3.5]
    """

    def __init__(
        self,
        optimizer: Any,
        epsilon: float = 1e-5,
        coefficient: float = 0.001,
        use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _not_norm_nor_bias,
    ) -> None:
        super().__init__(0.0, [Parameter(Tensor(0.0), name="fake_param")])
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"For 'LARS', the type of 'optimizer' should be 'Optimizer', but got type '{type(optimizer).__name__}'."
            )
        check_argument_type(epsilon, "epsilon", "LARS", float)
        check_argument_type(coefficient, "coefficient", "LARS", float)
        check_argument_type(use_clip, "use_clip", "LARS", bool)
        self.opt = optimizer
        self.epsilon, self.coefficient, self.use_clip = epsilon, coefficient, use_clip
        for name in (
            "dynamic_decay_flags", "dynamic_weight_decay", "weight_decay", "global_step", "parameters", "is_group",
            "decay_flags", "reciprocal_scale", "need_scale", "loss_scale",
        ):  # fmt: skip
            setattr(self, name, getattr(optimizer, name))
        self._parameters, self.param_length = optimizer._parameters, optimizer.param_length
        self.lars_flag = tuple(bool(lars_filter(param)) for param in self.parameters)
        self.learning_rate = Parameter(Tensor(0.0, float32), name="fake_lr")
        if use_clip:
            if optimizer.is_group_lr and optimizer.dynamic_lr:
                raise ArgumentValueError(
                    "For 'LARS', if the argument 'use_clip' is set to True, then the dynamic learning rate and group "
                    "learning rate cannot both be true."
                )
            self.is_group_lr, self.dynamic_lr = optimizer.is_group_lr, optimizer.dynamic_lr
            self.origin_learning_rate = optimizer.learning_rate
        # LARS applies both from now on
        optimizer.decay_flags = (False,) * optimizer.param_length
        optimizer.exec_weight_decay = optimizer.dynamic_weight_decay = optimizer.need_scale = False

    def construct(self, gradients: Any) -> Any:
        with torch.no_grad():
            grads = [
                grad if isinstance(grad, torch.Tensor) else to_row_gradient(grad).dense()
                for grad in map(to_torch_gradient, gradients, self.parameters)
            ]
            grads = list(self._unscale_gradients(list(grads)))  # type: ignore[arg-type]
            rates = self.opt.get_lr() if self.use_clip else None
            decays = self.get_weight_decay()
            for index, flag in enumerate(self.lars_flag):
                if flag:
                    grads[index] = self._scale_gradient(index, grads[index], rates, decays)
        return self.opt(tuple(wrap(grad) for grad in grads))

    def _scale_gradient(self, index: int, grad: torch.Tensor, rates: Any, decays: Any) -> torch.Tensor:
        weight = self.parameters[index]._torch
        decay: Any = 0.0
        if self.decay_flags[index]:
            decay = unwrap(decays[index] if self.is_group else decays).reshape(()) / self.loss_scale
        param_norm, grad_norm = weight.norm(), grad.norm()
        ratio = self.coefficient * param_norm / (grad_norm + decay * param_norm + self.epsilon)
        ratio = torch.where(
            (param_norm > 0) & (grad_norm > 0), ratio, 1.0
        )  # else weights that are initialized to 0 would stay 0
        if rates is not None:
            ratio = torch.clamp_max(ratio / unwrap(rates[index] if self.is_group_lr else rates), 1.0)
        return (grad + weight * decay) * ratio

"""Optimizer updates with sparse gradients (some rows), in place; duplicate rows are summed first."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor

from millrace._src.core.errors import ArgumentValueError

from .apply import (
    adadelta_step,
    adagrad_step,
    adagrad_v2_step,
    adam_step,
    define_update_primitive,
    ftrl_step,
    proximal_step,
)

__all__ = [
    "FusedSparseAdam",
    "FusedSparseFtrl",
    "FusedSparseLazyAdam",
    "FusedSparseProximalAdagrad",
    "SparseApplyAdadelta",
    "SparseApplyAdagrad",
    "SparseApplyAdagradV2",
    "SparseApplyFtrl",
    "SparseApplyFtrlV2",
    "SparseApplyProximalAdagrad",
    "SparseApplyRMSProp",
]


def _to_dense(name: str, var: Tensor, grad: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
    """Dense gradient, and the mask of rows that have one."""
    if indices.ndim != 1 or grad.shape[:1] != indices.shape or grad.shape[1:] != var.shape[1:]:
        raise ArgumentValueError(
            f"For '{name}', there must be a row of the gradient per index, but the shapes are {list(var.shape)}, "
            f"{list(grad.shape)} and {list(indices.shape)}."
        )
    rows = indices.long()
    touched = torch.zeros(var.shape[0], dtype=torch.bool, device=var.device).index_fill_(0, rows, True)
    return torch.zeros_like(var).index_add_(0, rows, grad), touched.reshape(-1, *(1,) * (var.ndim - 1))


def _update_touched_rows(
    touched: Tensor, step: Any, o: Any, *parameters: Tensor, rest: tuple[Any, ...]
) -> None:
    """Run an update on all rows, and keep it for the touched rows only."""
    copies = [parameter.clone() for parameter in parameters]
    step(o, *copies, *rest)
    for parameter, updated in zip(parameters, copies, strict=True):
        parameter.copy_(torch.where(touched, updated, parameter))


def _adagrad(o: Any, var: Tensor, accum: Tensor, grad: Any, indices: Any) -> None:
    """Adagrad for the rows with a gradient."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(touched, adagrad_step, o, var, accum, rest=(o.lr, whole))


def _adagrad_v2(o: Any, var: Tensor, accum: Tensor, grad: Any, indices: Any) -> None:
    """Adagrad for the rows with a gradient, with epsilon."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(touched, adagrad_v2_step, o, var, accum, rest=(o.lr, whole))


def _ftrl(o: Any, var: Tensor, accum: Tensor, linear: Tensor, grad: Any, indices: Any) -> None:
    """FTRL for the rows with a gradient."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(
        touched, ftrl_step, o, var, accum, linear, rest=(whole, o.lr, o.l1, o.l2, o.lr_power)
    )


def _ftrl_v2(o: Any, var: Tensor, accum: Tensor, linear: Tensor, grad: Any, indices: Any) -> None:
    """FTRL for the rows with a gradient; `l2_shrinkage` shrinks the weights towards 0."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    pull = 2 * o.l2_shrinkage * var
    _update_touched_rows(
        touched, ftrl_step, o, var, accum, linear, rest=(whole, o.lr, o.l1, o.l2, o.lr_power)
    )
    linear.add_(torch.where(touched, pull, 0.0))
    kept = linear.abs() > o.l1
    size = accum.pow(-o.lr_power) / o.lr + 2 * o.l2
    var.copy_(torch.where(touched, torch.where(kept, (linear.sign() * o.l1 - linear) / size, 0.0), var))


def _adadelta(
    o: Any, var: Tensor, accum: Tensor, accum_update: Tensor, lr: Any, rho: Any, grad: Any, indices: Any
) -> None:
    """Adadelta for the rows with a gradient."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(
        touched, adadelta_step, o, var, accum, accum_update, rest=(lr, rho, o.epsilon, whole)
    )


def _rms_step(o: Any, var: Tensor, ms: Tensor, mom: Tensor, lr: Any, grad: Tensor) -> None:
    ms.mul_(o.rho).add_(grad.square() * (1 - o.rho))
    mom.mul_(o.momentum).add_(grad * lr * torch.rsqrt(ms + o.epsilon))
    var.sub_(mom)


def _rms(o: Any, var: Tensor, ms: Tensor, mom: Tensor, lr: Any, grad: Any, indices: Any) -> None:
    """RMSProp for the rows with a gradient."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(touched, _rms_step, o, var, ms, mom, rest=(lr, whole))


def _proximal(o: Any, var: Tensor, accum: Tensor, lr: Any, l1: Any, l2: Any, grad: Any, indices: Any) -> None:
    """Proximal Adagrad for the rows with a gradient, with L1 and L2 regularization."""
    whole, touched = _to_dense(o.name, var, grad, indices)
    _update_touched_rows(touched, proximal_step, o, var, accum, rest=(lr, l1, l2, whole))


def _adam(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    gradient: Any,
    indices: Any,
) -> None:
    """Adam for all rows; rows without a gradient have gradient 0."""
    whole, _ = _to_dense(o.name, var, gradient, indices)
    adam_step(o, var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, whole)


def _lazy_adam(
    o: Any,
    var: Tensor,
    m: Tensor,
    v: Tensor,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    gradient: Any,
    indices: Any,
) -> None:
    """Adam for the rows with a gradient."""
    whole, touched = _to_dense(o.name, var, gradient, indices)
    rest = (beta1_power, beta2_power, lr, beta1, beta2, epsilon, whole)
    _update_touched_rows(touched, adam_step, o, var, m, v, rest=rest)


_NEEDED: Any = inspect.Parameter.empty
_RATES: dict[str, Any] = {
    "lr": _NEEDED,
    "l1": _NEEDED,
    "l2": _NEEDED,
    "lr_power": _NEEDED,
    "use_locking": False,
}
SparseApplyAdagrad = define_update_primitive(
    _adagrad, "SparseApplyAdagrad", 2, __name__, lr=_NEEDED, update_slots=True, use_locking=False
)
SparseApplyAdagradV2 = define_update_primitive(
    _adagrad_v2,
    "SparseApplyAdagradV2",
    2,
    __name__,
    lr=_NEEDED,
    epsilon=_NEEDED,
    use_locking=False,
    update_slots=True,
)
SparseApplyFtrl = define_update_primitive(_ftrl, "SparseApplyFtrl", 3, __name__, **_RATES)
FusedSparseFtrl = define_update_primitive(_ftrl, "FusedSparseFtrl", 3, __name__, **_RATES)
SparseApplyProximalAdagrad = define_update_primitive(
    _proximal, "SparseApplyProximalAdagrad", 2, __name__, use_locking=False
)
FusedSparseProximalAdagrad = define_update_primitive(
    _proximal, "FusedSparseProximalAdagrad", 2, __name__, use_locking=False
)
FusedSparseAdam = define_update_primitive(
    _adam, "FusedSparseAdam", 3, __name__, use_locking=False, use_nesterov=False
)
FusedSparseLazyAdam = define_update_primitive(
    _lazy_adam, "FusedSparseLazyAdam", 3, __name__, use_locking=False, use_nesterov=False
)
SparseApplyAdadelta = define_update_primitive(
    _adadelta, "SparseApplyAdadelta", 3, __name__, epsilon=_NEEDED, use_locking=False
)
SparseApplyFtrlV2 = define_update_primitive(
    _ftrl_v2,
    "SparseApplyFtrlV2",
    3,
    __name__,
    lr=_NEEDED,
    l1=_NEEDED,
    l2=_NEEDED,
    l2_shrinkage=_NEEDED,
    lr_power=_NEEDED,
    use_locking=False,
)
SparseApplyRMSProp = define_update_primitive(
    _rms, "SparseApplyRMSProp", 3, __name__, rho=_NEEDED, momentum=_NEEDED, epsilon=_NEEDED, use_locking=False
)

"""AdaFactor: Adam with a factored second moment of matrices (one row and one column)."""

from __future__ import annotations

import logging
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float16, float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import (
    check_argument_type,
    check_bool,
    check_float,
    check_fraction,
)
from millrace._src.runtime.ops.array.creation import zeros
from millrace._src.runtime.tensor.parameter import Parameter, ParameterTuple

from .foreach_optimizer import ForeachOptimizer
from .update_rules import Tensors

__all__ = ["AdaFactor"]

_log = logging.getLogger(__name__)


@public("nn")
class AdaFactor(ForeachOptimizer):
    """AdaFactor: ``p -= lr * g / sqrt(row * column / mean(row))``, with the update clipped to
    `clip_threshold`.

    Without `learning_rate` it is ``min(0.01, 1 / sqrt(step))``, and `scale_parameter` multiplies it with the
    root mean square of the parameter.

    >>> weight = Parameter(Tensor([[1.0, 2.0], [3.0, 4.0]]), name="weight")
    >>> AdaFactor([weight], learning_rate=0.5, scale_parameter=False, relative_step=False, beta1=0.0)(
    ...     (Tensor([[1.0, -1.0], [1.0, -1.0]]),)
    ... )
    (True,)
    >>> [round(number, 4) for number in weight.asnumpy().ravel().tolist()]
    [0.5, 2.5, 2.5, 4.5]
    """

    state_names = ("exp_avg", "exp_avg_sq_row", "exp_avg_sq_col", "exp_avg_sq")
    has_coupled_weight_decay = False
    _target_is_settable = _support_parallel_optimizer = True

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        if learning_rate is not None and relative_step:
            raise ArgumentValueError("Cannot combine manual lr and relative_step options", learning_rate)
        if warmup_init and not relative_step:
            raise ArgumentValueError("warmup_init requires relative_step=True")
        if learning_rate is None and not relative_step:
            raise ArgumentValueError("Cannot learning_rate is None and relative_step=False")
        rate = 0.0 if learning_rate is None else learning_rate
        beta1 = 0.0 if beta1 is None else beta1
        self_scaled = isinstance(rate, (float, int))
        if not self_scaled and scale_parameter:
            _log.warning("a dynamic learning rate is not scaled by the root mean square of a parameter")
        super().__init__(rate, params, weight_decay, loss_scale)
        owner = "AdaFactor"
        if not isinstance(eps, (list, tuple)):
            raise ArgumentTypeError(
                f"For '{owner}', the type of 'eps' should be one of '['list', 'tuple']', but got type "
                f"'{type(eps).__name__}'."
            )
        if len(eps) != 2:
            raise ArgumentValueError("eps must have 2 value: (eps1, eps2).")
        for number, value in enumerate(eps):
            check_argument_type(value, f"eps{number}", owner, float)
            check_float(value, f"eps{number}", owner, zero=True)
        check_argument_type(clip_threshold, "clip_threshold", owner, float)
        check_float(clip_threshold, "clip_threshold", owner, zero=True)
        check_fraction(decay_rate, "decay_rate", owner)
        if not isinstance(weight_decay, float) or weight_decay >= 1:
            raise ArgumentValueError(
                f"For '{owner}', the 'weight_decay' must be in range of [0, 1), but got {weight_decay}."
            )
        for name, flag in (("scale_parameter", scale_parameter), ("relative_step", relative_step)):
            check_argument_type(flag, name, owner, bool)
        check_bool(compression, "compression", owner)
        check_argument_type(beta1, "beta1", owner, int, float)
        check_float(float(beta1), "beta1", owner, zero=True)
        self.eps, self.clip_threshold, self.decay_rate = eps, clip_threshold, -decay_rate
        self.beta1, self.weight_decay_flag = beta1, bool(weight_decay)
        self.scale_lr, self.scale_parameter = self_scaled, scale_parameter and self_scaled
        self.relative_step, self.warmup_init, self.compression = relative_step, warmup_init, compression
        self.use_first_moment = beta1 > 0
        if not self.is_group:
            self.decay_flags = (self.weight_decay_flag,) * self.param_length
        self._create_states()
        self.step = Parameter(Tensor([0.0], float32), name="afactor_step")

    def _create_states(self) -> None:
        """Create the states of each parameter, with placeholders for those its shape does not need."""
        self.exp_avg = (
            self._parameters.clone(prefix="exp_avg", init="zeros")
            if self.use_first_moment
            else ParameterTuple([Parameter(Tensor(0.0), name="Parameter$1")] * self.param_length)
        )
        rows: list[Parameter] = []
        columns: list[Parameter] = []
        squares: list[Parameter] = []
        for param in self._parameters:
            shape, dtype, name = tuple(param.shape), param.dtype, param.name
            is_matrix = len(shape) > 1
            factor_specs = (
                (rows, "row_", shape[:-1] if is_matrix else (1,), dtype),
                (columns, "col_", shape[:-2] + shape[-1:] if is_matrix else (1,), dtype),
                (
                    squares,
                    "",
                    (1,) if is_matrix else shape,
                    float16 if self.compression and not is_matrix else dtype,
                ),
            )
            for parameters, prefix, state_shape, state_dtype in factor_specs:
                parameters.append(
                    Parameter(zeros(state_shape, state_dtype), name=f"exp_avg_sq_{prefix}{name}")
                )
        self.exp_avg_sq_row, self.exp_avg_sq_col = ParameterTuple(rows), ParameterTuple(columns)
        self.exp_avg_sq = ParameterTuple(squares)

    def begin_step(self) -> None:
        self.step._torch.add_(1)

    def update(self, lr: torch.Tensor, params: Tensors, grads: Tensors, *states: Any) -> None:
        step = self.step._torch.reshape(())
        if self.scale_lr and self.relative_step:
            lr = torch.clamp_max(torch.rsqrt(step), 1e-2)
            if self.warmup_init:
                lr = torch.minimum(1e-6 * step, torch.rsqrt(step))
        decay = 1.0 - torch.pow(step, self.decay_rate)
        for param, grad, mean, row, column, square in zip(params, grads, *states, strict=True):
            self._update_parameter(lr, decay, param, grad, mean, row, column, square)

    def _update_parameter(
        self,
        lr: torch.Tensor,
        decay: torch.Tensor,
        param: torch.Tensor,
        grad: torch.Tensor,
        mean: torch.Tensor,
        row: torch.Tensor,
        column: torch.Tensor,
        square: torch.Tensor,
    ) -> None:
        rate = lr * torch.clamp_min(_root_mean_square(param), self.eps[1]) if self.scale_parameter else lr
        squares = grad.square() + self.eps[0]
        if grad.ndim > 1:
            row.mul_(decay).add_(squares.mean(-1) * (1 - decay))
            column.mul_(decay).add_(squares.mean(-2) * (1 - decay))
            inverse_root = (row / row.mean(-1, keepdim=True)).rsqrt()[..., None] * column.rsqrt()[
                ..., None, :
            ]
        else:
            square.copy_(square * decay + squares * (1 - decay))
            inverse_root = square.to(grad.dtype).rsqrt()
        step = inverse_root * grad
        step = step / torch.clamp_min(_root_mean_square(step) / self.clip_threshold, 1.0) * rate
        if self.use_first_moment:
            mean.mul_(self.beta1).add_(step, alpha=1 - self.beta1)
            step = mean
        if self._decoupled_weight_decay is not None:
            param.sub_(param * (self._decoupled_weight_decay * rate))
        param.sub_(step)

    @property
    def supports_memory_efficient_fp16(self) -> bool:
        """Whether parameters may have a 16-bit floating dtype."""
        return True

    @property
    def supports_flat_params(self) -> bool:
        """Whether parameters may be flattened: no, since the states depend on rows and columns."""
        return False


def _root_mean_square(values: torch.Tensor) -> torch.Tensor:
    """The root mean square."""
    return values.square().mean().sqrt()

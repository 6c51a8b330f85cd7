"""Gradient accumulation over several steps."""

from __future__ import annotations

from typing import Any

from millrace._src.core.public import public
from millrace._src.core.values.dtype import int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_positive_int
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.array.assign import assign, assign_add
from millrace._src.runtime.ops.array.creation import zeros_like
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["GradientAccumulation"]


@public("boost")
class GradientAccumulation(Cell):
    """Accumulates gradients; every `max_accumulation_step` calls the optimizer gets their mean.

    The step counter is a tensor: inside a graph, the step around it runs operation by operation; called alone, the
    optimizer runs as a separate graph.

    >>> from millrace import nn
    >>> net = nn.Dense(1, 1, weight_init="zeros", has_bias=False)
    >>> gathering = GradientAccumulation(2, nn.SGD(net.trainable_params(), 0.5))
    >>> for _ in range(2):
    ...     _ = gathering(Tensor(0.0), (Tensor([[1.0]]),))
    >>> net.weight.item()
    -0.5
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        owner = "GradientAccumulation"
        self._max_accumulation_step = check_positive_int(
            max_accumulation_step, "max_accumulation_step", owner
        )
        self.optimizer = optimizer
        self.weights = optimizer.parameters
        self._grad_accumulation = self.weights.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(Tensor(0, int32), name="accumulation_step")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if modes.thread_state.capturing:
            return super().__call__(*args, **kwargs)
        return self.construct(*args, **kwargs)

    def construct(self, loss: Any, grads: Any) -> Any:
        for gathered, grad in zip(self._grad_accumulation, grads, strict=True):
            assign_add(gathered, grad / self._max_accumulation_step)
        assign_add(self._accumulation_step, 1)
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(tuple(self._grad_accumulation))
            assign(self._accumulation_step, 0)
            for gathered in self._grad_accumulation:
                assign(gathered, zeros_like(gathered))
        return loss

"""Stopping gradients: stop_gradient, StopGradient."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor as MillraceTensor
from millrace._src.runtime.ops.declare.dtype_rules import SAME
from millrace._src.runtime.ops.declare.primitive import Primitive
from millrace._src.runtime.ops.declare.registry import op

__all__ = ["StopGradient", "stop_gradient", "stop_gradient_"]


@op("ops", dtype=SAME, differentiable=False)
def stop_gradient(value: Any) -> Any:
    """Return the value as a constant for differentiation."""
    if isinstance(value, (tuple, list)):
        return type(value)(part.detach() if isinstance(part, Tensor) else part for part in value)
    return value.detach() if isinstance(value, Tensor) else value


@public("ops")
class StopGradient(Primitive):
    """Return the value as a constant for differentiation.

    >>> from millrace import Tensor
    >>> StopGradient()(Tensor([1.0])).item()
    1.0
    """

    def __init__(self) -> None:
        super().__init__("StopGradient")

    def __call__(self, value: Any) -> Any:
        return stop_gradient(value)


@public("ops")
def stop_gradient_(input: MillraceTensor) -> MillraceTensor:
    """Detach a tensor from its computation, in place.

    >>> from millrace import Tensor
    >>> x = Tensor([2.0])
    >>> stop_gradient_(x) is x
    True
    """
    if not isinstance(input, MillraceTensor):
        raise ArgumentTypeError(f"For 'stop_gradient_', 'input' must be a Tensor, but got {input!r}.")
    input._torch = input._torch.detach()
    return input

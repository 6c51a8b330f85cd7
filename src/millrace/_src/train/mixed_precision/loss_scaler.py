"""Loss scaling for custom loops: ``scale`` the loss, ``unscale`` the gradients, ``adjust``."""

from __future__ import annotations

import abc
from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_positive_int
from millrace._src.runtime.ops.array.assign import assign
from millrace._src.runtime.ops.math.arithmetic import div, mul
from millrace._src.runtime.ops.math.logical_bitwise import logical_not
from millrace._src.runtime.ops.optimizer.overflow import has_non_finite, update_dynamic_loss_scale
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["DynamicLossScaler", "LossScaler", "StaticLossScaler", "all_finite"]


@public("amp")
def all_finite(inputs: Any) -> Tensor:
    """Whether all elements of tensors are finite; the result is a tensor, so a captured step need not read it.

    >>> all_finite([Tensor([1.0, 2.0])]), all_finite((Tensor([float("inf")]),)).item()
    (Tensor(shape=[], dtype=Bool, value= True), False)
    """
    tensors = [inputs] if isinstance(inputs, Tensor) else inputs
    if not isinstance(tensors, (tuple, list)) or not all(isinstance(each, Tensor) for each in tensors):
        raise ArgumentTypeError(
            f"For 'all_finite', the 'inputs' must be a tuple or list of Tensors, but got {inputs!r}."
        )
    if not tensors:
        raise ArgumentValueError("For 'all_finite', there must be at least one tensor in 'inputs'.")
    return logical_not(has_non_finite(list(tensors)))


@public("amp")
class LossScaler(abc.ABC):
    """Base class of loss scalers; a custom scaler implements ``scale``, ``unscale`` and ``adjust``.

    >>> issubclass(StaticLossScaler, LossScaler)
    True
    """

    @abc.abstractmethod
    def scale(self, inputs: Any) -> Any:
        """Multiply tensors by the scale."""

    @abc.abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """Divide tensors by the scale."""

    @abc.abstractmethod
    def adjust(self, grads_finite: Any) -> Any:
        """Update the scale by whether gradients were finite."""


@public("amp")
class StaticLossScaler(LossScaler):
    """Constant loss scale.

    >>> scaler = StaticLossScaler(8.0)
    >>> scaler.scale(Tensor(2.0)).item(), scaler.unscale((Tensor(16.0),))[0].item()
    (16.0, 2.0)
    """

    def __init__(self, scale_value: float) -> None:
        self._scale_value = Parameter(Tensor(_check_scale_value(scale_value), float32), name="scale_value")

    def scale(self, inputs: Any) -> Any:
        """Multiply tensors by the scale."""
        return _apply_to_each(mul, inputs, self._scale_value)

    def unscale(self, inputs: Any) -> Any:
        """Divide tensors by the scale."""
        return _apply_to_each(div, inputs, self._scale_value)

    def adjust(self, grads_finite: Any) -> bool:
        """The scale is constant: returns False."""
        return False


@public("amp")
class DynamicLossScaler(LossScaler):
    """Dynamic loss scale: divided by `scale_factor` after an overflow, multiplied by it after `scale_window`
    consecutive steps without one. Scale and counter are Parameters, so that captured steps use their current values.

    >>> scaler = DynamicLossScaler(8.0, scale_factor=2, scale_window=1000)
    >>> _ = scaler.adjust(Tensor(False))
    >>> scaler.scale_value.item()
    4.0
    """

    def __init__(self, scale_value: float, scale_factor: int, scale_window: int) -> None:
        self.scale_value = Parameter(Tensor(_check_scale_value(scale_value), float32), name="scale_value")
        self.scale_factor = check_positive_int(scale_factor, "scale_factor", "DynamicLossScaler")
        self.scale_window = check_positive_int(scale_window, "scale_window", "DynamicLossScaler")
        self.counter = Parameter(Tensor(0, int32), name="counter")

    def scale(self, inputs: Any) -> Any:
        """Multiply tensors by the scale."""
        return _apply_to_each(mul, inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """Divide tensors by the scale."""
        return _apply_to_each(div, inputs, self.scale_value)

    def adjust(self, grads_finite: Any) -> bool:
        """Update the scale by whether gradients were finite."""
        scale, count = update_dynamic_loss_scale(
            self.scale_value, self.counter, grads_finite, self.scale_factor, self.scale_window
        )
        assign(self.scale_value, scale)
        assign(self.counter, count)
        return True


def _check_scale_value(value: Any) -> Any:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ArgumentTypeError(
            f"The type of 'scale_value' should be one of '['float', 'int']', but got type '{type(value).__name__}'."
        )
    if value < 1:
        raise ArgumentValueError(f"The argument 'scale_value' must be > 1, but got {value}")
    return value


def _apply_to_each(operation: Any, value: Any, scale: Parameter) -> Any:
    """Apply an operation to a tensor or to each tensor of a sequence, and keep dtypes."""
    if isinstance(value, (tuple, list)):
        return type(value)(_apply_to_each(operation, part, scale) for part in value)
    return operation(value, scale.astype(value.dtype))

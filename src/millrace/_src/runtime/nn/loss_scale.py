"""Training steps with loss scaling: steps with gradient overflow are skipped."""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32, int32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.ops.array.assign import assign
from millrace._src.runtime.ops.array.cast import deepcopy
from millrace._src.runtime.ops.array.where import where
from millrace._src.runtime.ops.framework.composite import HyperMap
from millrace._src.runtime.ops.math.arithmetic import div
from millrace._src.runtime.ops.optimizer.overflow import has_non_finite, update_loss_scale
from millrace._src.runtime.tensor.parameter import Parameter

from .cell import Cell
from .gradient_reducer import DistributedGradReducer
from .network_wrappers import TrainOneStepCell

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]


@public("nn")
class DynamicLossScaleUpdateCell(Cell):
    """Dynamic loss scale: decreased after an overflow, increased after `scale_window` steps without one.

    >>> scale = Parameter(Tensor(8.0), name="scale")
    >>> DynamicLossScaleUpdateCell(8, 2, 1000)(scale, Tensor(True)).item(), scale.item()
    (True, 4.0)
    """

    def __init__(self, loss_scale_value: Any, scale_factor: Any, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.minimum_loss_scale = 1.0
        self.cur_iter = Parameter(Tensor(1, int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(Tensor(0, int32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> Any:
        """The initial scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        scale, last, step = update_loss_scale(
            loss_scale,
            self.last_overflow_iter,
            self.cur_iter,
            overflow,
            self.scale_factor,
            self.scale_window,
            self.minimum_loss_scale,
        )
        assign(loss_scale, scale)
        assign(self.last_overflow_iter, last)
        assign(self.cur_iter, step)
        return overflow


@public("nn")
class FixedLossScaleUpdateCell(Cell):
    """Fixed loss scale."""

    def __init__(self, loss_scale_value: Any) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> Any:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


@public("nn")
class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """A training step with loss scaling; it returns the loss, whether gradients overflowed, and the scale.

    `scale_sense` is a tensor, or a Cell that updates the scale. After an overflow the weights and the
    optimizer states are unchanged; the optimizer is called in either case, so that one capture covers both.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer, sens=None)
        self.hyper_map = HyperMap()
        self.is_distributed = self.gpu_target = False
        self.loss_scaling_manager: Any = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            start: Any = Tensor(scale_sense.get_loss_scale(), float32)
        elif isinstance(scale_sense, Tensor):
            if scale_sense.shape not in ((), (1,)):
                raise ArgumentValueError(
                    "For 'TrainOneStepWithLossScaleCell', the shape of 'scale_sense' must be (1,) or (), but got "
                    f"{scale_sense.shape}."
                )
            start = scale_sense
        else:
            raise ArgumentTypeError(
                "For 'TrainOneStepWithLossScaleCell', the 'scale_sense' must be Cell or Tensor, but got "
                f"'scale_sense' type: {type(scale_sense)}."
            )
        self.scale_sense = Parameter(start, name="scale_sense")

    def construct(self, *inputs: Any) -> Any:
        weights = self.weights
        scaling = deepcopy(self.scale_sense)
        self.__dict__["_unscaling"] = scaling
        loss, grads = self._loss_and_gradients(inputs, scaling)
        grads = self._reduce_gradients(grads, scaling)
        overflow = self.process_loss_scale(self.get_overflow_status(None, grads))
        kept = [*weights, *(p for p in self.optimizer.get_parameters() if all(p is not w for w in weights))]
        before = [deepcopy(each) for each in kept]
        self.optimizer(grads)
        for parameter, value in zip(kept, before, strict=True):
            assign(parameter, where(overflow, value, parameter))
        return loss, overflow, scaling

    def _begin(self) -> Any:
        """Start the reduction of gradients divided by the scale during the backward pass; with hooks, at its
        end.
        """
        if not isinstance(self.grad_reducer, DistributedGradReducer):
            return None
        arrived = self.grad_reducer.begin(self.__dict__["_unscaling"])
        self.__dict__["_on_their_way"] = arrived is not None
        return arrived

    def _reduce_gradients(self, grads: Any, scaling: Any) -> Any:
        if self.__dict__.get("_on_their_way"):
            return self.grad_reducer(grads)
        return self.grad_reducer(tuple(div(grad, scaling).astype(grad.dtype) for grad in grads))

    def set_sense_scale(self, sens: Any) -> None:
        """Set the scale."""
        if not isinstance(sens, Tensor):
            raise ArgumentTypeError(
                f"For 'TrainOneStepWithLossScaleCell', the type of 'sens' must be Tensor, but got {type(sens)}."
            )
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Any, Any]:
        """No effect: overflow is detected in the gradients."""
        return pre_cond, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """Whether any gradient is infinite or NaN."""
        return has_non_finite(list(compute_output))

    def process_loss_scale(self, overflow: Any) -> Any:
        """Update the scale."""
        if self.loss_scaling_manager is None:
            return overflow
        return self.loss_scaling_manager(self.scale_sense, overflow)

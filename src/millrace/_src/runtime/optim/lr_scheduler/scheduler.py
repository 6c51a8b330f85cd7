"""``LRScheduler``: base class of schedulers, which set the learning rates of an optimizer's groups once per
call.
"""

from __future__ import annotations

from typing import Any

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.nn.argument_types import check_argument_type
from millrace._src.runtime.ops.array.assign import assign
from millrace._src.runtime.optim.param_group_optimizer import ParamGroupOptimizer
from millrace._src.runtime.optim.parameter_groups import GroupKeyError
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["LRScheduler"]


@public("experimental.optim.lr_scheduler")
class LRScheduler:
    """Base class of schedulers: a subclass implements ``get_lr``, which returns a rate for each group.

    It may use ``last_epoch``, the number of the call, ``base_lrs``, and ``_last_lr``, the current rates.

    >>> from millrace.experimental.optim import SGD
    >>> class Halving(LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5**self.last_epoch for rate in self.base_lrs]
    >>> scheduler = Halving(SGD([Parameter(Tensor([1.0]), name="weight")], lr=0.8))
    >>> scheduler.step(), round(scheduler.get_last_lr()[0].item(), 6)
    (True, 0.4)
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        check_argument_type(last_epoch, "last_epoch", "", int)
        if last_epoch < -1:
            raise ArgumentValueError(f"Invalid last_epoch: {last_epoch}")
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(optimizer.lrs[number].item(), float32))
            elif "initial_lr" not in group:
                raise GroupKeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming an optimizer"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.optimizer = optimizer
        self._last_lr: list[Parameter] = list(optimizer.lrs)
        self.groups_num = len(optimizer.param_groups)
        self.last_epoch: Any = Parameter(
            Tensor(float(last_epoch), float32), name=f"last_epoch_{type(self).__name__}"
        )
        self.step()

    def get_lr(self) -> list[Any]:
        """A rate for each group; every scheduler implements it."""
        raise NotImplementedError("a scheduler must have a method get_lr()")

    def get_last_lr(self) -> list[Tensor]:
        """The current rates."""
        return [Tensor(rate.asnumpy().copy()) for rate in self._last_lr]

    def step(self, epoch: Any = None) -> Any:
        """Advance by one call, or to the given number, and set the rates of the groups."""
        if epoch is None:
            assign(self.last_epoch, self.last_epoch + 1)
            values = self.get_lr()
        else:
            assign(self.last_epoch, Tensor(float(epoch), float32))
            closed = getattr(self, "_get_closed_form_lr", self.get_lr)
            values = closed()
        self._write(values)
        return True

    def _write(self, values: list[Any]) -> None:
        for kept, value in zip(self._last_lr, values, strict=True):
            assign(kept, value if isinstance(value, Tensor) else Tensor(float(value), float32))

    # values for the built-in schedulers

    @property
    def _epoch(self) -> float:
        return float(self.last_epoch.item())

    @property
    def _rates(self) -> list[float]:
        return [float(rate.item()) for rate in self._last_lr]

    @property
    def _bases(self) -> list[float]:
        return [float(rate.item()) if isinstance(rate, Tensor) else float(rate) for rate in self.base_lrs]


def check_optimizer(optimizer: Any) -> None:
    """Check that an optimizer has parameter groups."""
    if not isinstance(optimizer, ParamGroupOptimizer):
        raise ArgumentTypeError(
            f"{type(optimizer).__name__} is not an Optimizer of experimental.optim or mint.optim; optimizers of nn "
            "take a schedule as their learning_rate"
        )

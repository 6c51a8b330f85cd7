"""`SequentialLR`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.core.values.dtype import float32
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.parameter import Parameter

__all__ = ["SequentialLR"]


@public("experimental.optim.lr_scheduler")
class SequentialLR:
    """Run schedulers one after the other; `milestones` are the calls at which the next one starts.

    >>> from millrace.experimental.optim import SGD
    >>> from millrace._src.runtime.optim.lr_scheduler.step_schedulers import ConstantLR, ExponentialLR
    >>> optimizer = SGD([Parameter(Tensor([1.0]), name="weight")], lr=1.0)
    >>> schedulers = [ConstantLR(optimizer, 0.5, 2), ExponentialLR(optimizer, 0.5)]
    >>> scheduler = SequentialLR(optimizer, schedulers, [2])
    >>> [scheduler.step() or scheduler.get_last_lr()[0].item() for _ in range(4)]
    [0.5, 1.0, 0.5, 0.25]
    """

    def __init__(self, optimizer: Any, schedulers: Any, milestones: Any, last_epoch: int = -1) -> None:
        for number, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise ArgumentValueError(
                    "Sequential Schedulers expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"at index {number} is different from the optimizer passed in."
                )
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones "
                f"{len(milestones)}"
            )
        self._schedulers, self.milestones, self.optimizer = schedulers, milestones, optimizer
        self.last_epoch: Any = Parameter(
            Tensor(float(last_epoch + 1), float32), name="last_epoch_SequentialLR"
        )
        for kept, group in zip(optimizer.lrs, optimizer.param_groups, strict=True):
            kept.set_data(group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch.set_data(scheduler.last_epoch - 1)
        schedulers[0].step()
        self._last_lr = schedulers[0]._last_lr

    def step(self) -> None:
        """Advance by one call; the active scheduler sets the rates."""
        self.last_epoch.set_data(self.last_epoch + 1)
        epoch = int(self.last_epoch.item())
        turn = bisect_right(self.milestones, epoch)
        if turn > 0 and self.milestones[turn - 1] == epoch:
            self._schedulers[turn].step(0)
        else:
            self._schedulers[turn].step()

    def get_last_lr(self) -> list[Tensor]:
        """The current rates."""
        return [Tensor(rate.asnumpy().copy()) for rate in self._last_lr]

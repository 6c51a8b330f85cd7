"""AdaSum: what many processes found is added where it points in different directions, and averaged where it agrees."""

from __future__ import annotations

from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, OperationError
from millrace._src.core.public import public
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.nn.cell import Cell
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.storage import unwrap, wrap

from .optimizer import Optimizer

__all__ = ["AdaSumByDeltaWeightWrapCell", "AdaSumByGradWrapCell"]


class _AdaSumOptimizer(Cell):
    """An optimizer with AdaSum; a training step leaves the gradients of other processes to it."""

    # asked by the cells of training steps, which put gradients together otherwise
    sums_gradients = True

    def __init__(self, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', the type of 'optimizer' should be 'Optimizer', but got type "
                f"'{type(optimizer).__name__}'."
            )
        _check()
        self.optimizer, self.parameters = optimizer, optimizer.parameters


def _check() -> None:
    asked = parallel_context.get_auto_parallel_context
    if asked("parallel_mode") == "stand_alone":
        raise OperationError(
            "Stand alone mode is not supported to apply adasum. Call "
            "set_auto_parallel_context(parallel_mode='data_parallel') first."
        )
    if asked("enable_parallel_optimizer"):
        raise OperationError("Currently, the optimizer shard is not supported with applying adasum.")
    size = groups.get_group(WORLD_GROUP, "AdaSum").size
    if size & (size - 1):
        raise OperationError(
            f"The device_num must be the power of 2 when applying adasum, but there are {size} processes."
        )


@public("nn")
class AdaSumByGradWrapCell(_AdaSumOptimizer):
    """An optimizer that is given the adaptive sum of the gradients of all processes.

    Of two gradients a and b of a parameter that is ``(1 - ab / 2aa) a + (1 - ab / 2bb) b``: their sum where they are
    orthogonal, their mean where they are the same. Four and more processes do so in pairs, then in pairs of pairs:
    their number must be a power of 2 (MindSpore wants at least 16, and sums inside of servers of 8). A parameter with
    one element is averaged. The step's own averaging of gradients is left out.

    >>> import millrace as ms
    >>> from millrace import Parameter, Tensor, nn
    >>> from millrace.communication import init, release
    >>> init()
    >>> ms.set_auto_parallel_context(parallel_mode="data_parallel")
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> optimizer = AdaSumByGradWrapCell(nn.SGD([weight], 0.5))
    >>> _ = optimizer((Tensor([1.0, -1.0]),))
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    >>> ms.reset_auto_parallel_context()
    >>> release()
    """

    def construct(self, grads: Any) -> Any:
        with torch.no_grad():
            summed = _adaptive_sum([unwrap(each).detach() for each in grads])
        return self.optimizer(tuple(wrap(each) for each in summed))


@public("nn")
class AdaSumByDeltaWeightWrapCell(_AdaSumOptimizer):
    """An optimizer whose changes of the parameters are put together by AdaSum, where
    :class:`AdaSumByGradWrapCell` does so with gradients.

    Each process takes the step that its own gradients say. What the optimizer keeps differs between processes, as
    gradients do.

    >>> import millrace as ms
    >>> from millrace import Parameter, Tensor, nn
    >>> from millrace.communication import init, release
    >>> init()
    >>> ms.set_auto_parallel_context(parallel_mode="data_parallel")
    >>> weight = Parameter(Tensor([1.0, 2.0]), name="weight")
    >>> _ = AdaSumByDeltaWeightWrapCell(nn.SGD([weight], 0.5))((Tensor([1.0, -1.0]),))
    >>> weight.asnumpy().tolist()
    [0.5, 2.5]
    >>> ms.reset_auto_parallel_context()
    >>> release()
    """

    def construct(self, grads: Any) -> Any:
        weights = [parameter._torch for parameter in self.parameters]
        with torch.no_grad():
            before = [weight.detach().clone() for weight in weights]
        made = self.optimizer(grads)
        with torch.no_grad():
            changes = [old - weight for old, weight in zip(before, weights, strict=True)]
            for weight, old, change in zip(weights, before, _adaptive_sum(changes), strict=True):
                weight.copy_(old - change)
        return made


def _adaptive_sum(mine: list[torch.Tensor]) -> list[torch.Tensor]:
    """The adaptive sum over all processes, parameter by parameter; every process gets the same bits."""
    among = groups.require_membership(WORLD_GROUP, "AdaSum")
    distance = 1
    while distance < among.size:
        other = _exchange_with_partner(mine, among, among.rank ^ distance)
        pairs = zip(mine, other, strict=True)
        # both compute with the lower rank's values first, so that they round alike
        mine = [_added(a, b) if among.rank & distance == 0 else _added(b, a) for a, b in pairs]
        distance *= 2
    return mine


def _exchange_with_partner(
    mine: list[torch.Tensor], among: groups.ProcessGroup, partner: int
) -> list[torch.Tensor]:
    """The same values of another process, which gets ours: one message for all of one element type."""
    found: list[torch.Tensor] = list(mine)
    for kind in dict.fromkeys(each.dtype for each in mine):
        places = [place for place, each in enumerate(mine) if each.dtype is kind]
        flat = torch.cat([mine[place].reshape(-1) for place in places])
        sizes = [len(flat) if rank == partner else 0 for rank in range(among.size)]
        parts = collective.all_to_all(flat, sizes, sizes, among.name).split(
            [mine[place].numel() for place in places]
        )
        for place, part in zip(places, parts, strict=True):
            found[place] = part.reshape(mine[place].shape)
    return found


def _added(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.numel() == 1:
        return (a + b) / 2
    # squares of large or small gradients leave the range of float32
    x, y = a.double(), b.double()
    along, of_a, of_b = (x * y).sum(), (x * x).sum(), (y * y).sum()
    return ((1 - _ratio(along, of_a)) * x + (1 - _ratio(along, of_b)) * y).to(a.dtype)


def _ratio(along: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
    """Half of how much one holds of the other; nothing is held of zeros."""
    return torch.where(square > 0, along / (2 * square), 0.0)

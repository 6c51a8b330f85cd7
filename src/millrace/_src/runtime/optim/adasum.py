"""AdaSum: adaptive summation of gradients over processes: orthogonal gradients are added, equal ones
averaged.
"""

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
    """An optimizer with AdaSum; the training step leaves the gradient reduction to it."""

    # read by the training-step Cells, which reduce gradients otherwise
    sums_gradients = True

    def __init__(self, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(optimizer, Optimizer):
            raise ArgumentTypeError(
                f"For '{type(self).__name__}', the type of 'optimizer' should be 'Optimizer', but got type "
                f"'{type(optimizer).__name__}'."
            )
        _check_context()
        self.optimizer, self.parameters = optimizer, optimizer.parameters


def _check_context() -> None:
    get_setting = parallel_context.get_auto_parallel_context
    if get_setting("parallel_mode") == "stand_alone":
        raise OperationError(
            "Stand alone mode is not supported to apply adasum. Call "
            "set_auto_parallel_context(parallel_mode='data_parallel') first."
        )
    if get_setting("enable_parallel_optimizer"):
        raise OperationError("Currently, the optimizer shard is not supported with applying adasum.")
    size = groups.get_group(WORLD_GROUP, "AdaSum").size
    if size & (size - 1):
        raise OperationError(
            f"The device_num must be the power of 2 when applying adasum, but there are {size} processes."
        )


@public("nn")
class AdaSumByGradWrapCell(_AdaSumOptimizer):
    """An optimizer that applies the adaptive sum of the gradients of all processes.

    For two gradients a and b of a parameter it is ``(1 - ab / 2aa) a + (1 - ab / 2bb) b``: their sum if they
    are orthogonal, their mean if they are equal. More processes are combined in pairs, then in pairs of
    pairs: their number must be a power of 2 (MindSpore needs at least 16, and sums inside servers of 8). A
    parameter with one element is averaged. The gradient reduction of the training step is disabled.

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
    """An optimizer whose parameter updates are combined by AdaSum, where :class:`AdaSumByGradWrapCell`
    combines gradients.

    Each process takes the step of its local gradients. The optimizer states differ between processes.

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
        result = self.optimizer(grads)
        with torch.no_grad():
            changes = [old - weight for old, weight in zip(before, weights, strict=True)]
            for weight, old, change in zip(weights, before, _adaptive_sum(changes), strict=True):
                weight.copy_(old - change)
        return result


def _adaptive_sum(values: list[torch.Tensor]) -> list[torch.Tensor]:
    """The adaptive sum over all processes, per parameter; bit-identical in every process."""
    process_group = groups.require_membership(WORLD_GROUP, "AdaSum")
    distance = 1
    while distance < process_group.size:
        partner_values = _exchange_with_partner(values, process_group, process_group.rank ^ distance)
        pairs = zip(values, partner_values, strict=True)
        # both start with the lower rank's values, so that they round equally
        values = [
            _adaptive_pair_sum(a, b) if process_group.rank & distance == 0 else _adaptive_pair_sum(b, a)
            for a, b in pairs
        ]
        distance *= 2
    return values


def _exchange_with_partner(
    values: list[torch.Tensor], process_group: groups.ProcessGroup, partner: int
) -> list[torch.Tensor]:
    """Exchange values with another process: one message per dtype."""
    received: list[torch.Tensor] = list(values)
    for dtype in dict.fromkeys(value.dtype for value in values):
        indices = [index for index, value in enumerate(values) if value.dtype is dtype]
        flat = torch.cat([values[index].reshape(-1) for index in indices])
        sizes = [len(flat) if rank == partner else 0 for rank in range(process_group.size)]
        parts = collective.all_to_all(flat, sizes, sizes, process_group.name).split(
            [values[index].numel() for index in indices]
        )
        for index, part in zip(indices, parts, strict=True):
            received[index] = part.reshape(values[index].shape)
    return received


def _adaptive_pair_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    if a.numel() == 1:
        return (a + b) / 2
    # squares of large or small gradients exceed the range of float32
    x, y = a.double(), b.double()
    dot, square_a, square_b = (x * y).sum(), (x * x).sum(), (y * y).sum()
    return ((1 - _ratio(dot, square_a)) * x + (1 - _ratio(dot, square_b)) * y).to(a.dtype)


def _ratio(dot: torch.Tensor, square: torch.Tensor) -> torch.Tensor:
    """Half of the projection coefficient; 0 for a zero gradient."""
    return torch.where(square > 0, dot / (2 * square), 0.0)

"""Parameters over processes: broadcast, and merging of slices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.public import public
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.ops.collective import functional as collective
from millrace._src.runtime.tensor.parameter import Parameter
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["broadcast_parameters", "merge_sliced_parameter", "parameter_broadcast"]


@public("parallel")
def broadcast_parameters(parameters: Iterable[Parameter], root: int = 0, group: str = WORLD_GROUP) -> None:
    """Broadcast parameters from rank `root` of the group, in place. Parameters with `layerwise_parallel` are
    skipped.

    >>> from millrace.communication import init, release
    >>> from millrace._src.core.values.tensor import Tensor
    >>> init()
    >>> broadcast_parameters([Parameter(Tensor([1.0]), "w")])
    >>> release()
    """
    for parameter in parameters:
        if not parameter.layerwise_parallel:
            with torch.no_grad():
                parameter._torch.copy_(collective.broadcast(parameter._torch.detach(), root, group))


@public("parallel", "millrace")
def parameter_broadcast(net: Any, layout: Any, cur_rank: int = 0, initial_rank: int = 0) -> None:
    """Broadcast the parameters of a network from rank `initial_rank`.

    `layout` is a strategy of MindSpore and is ignored: every process has the whole network.
    """
    if groups.world_group() is None:
        return
    broadcast_parameters(net.get_parameters(), initial_rank)


@public("train", "parallel", "millrace")
def merge_sliced_parameter(sliced_parameters: Any, strategy: Any = None) -> Parameter:
    """Concatenate slices of a parameter along the first axis, such as the rows of a `ShardedEmbedding` by
    rank.

    >>> from millrace._src.core.values.tensor import Tensor
    >>> parts = [Parameter(Tensor([1.0]), "w"), Parameter(Tensor([2.0]), "w")]
    >>> merge_sliced_parameter(parts).asnumpy().tolist()
    [1.0, 2.0]
    """
    if not isinstance(sliced_parameters, list):
        raise ArgumentTypeError(
            "For 'merge_sliced_parameter', the argument 'sliced_parameters' should be list, but got "
            f"{type(sliced_parameters)}."
        )
    if not sliced_parameters:
        raise ArgumentValueError(
            "For 'merge_sliced_parameter', the argument 'sliced_parameters' should not be empty."
        )
    if strategy is not None:
        raise ArgumentValueError(
            "For 'merge_sliced_parameter', 'strategy' must be None: strategies are not supported."
        )
    wrong = [part for part in sliced_parameters if not isinstance(part, Parameter)]
    if wrong:
        raise ArgumentTypeError(
            f"For 'merge_sliced_parameter', the parts must be Parameters, but got {type(wrong[0]).__name__}."
        )
    names = {part.name for part in sliced_parameters}
    if len(names) > 1:
        raise ArgumentValueError(
            f"For 'merge_sliced_parameter', the parts must have one name, but got {sorted(names)}."
        )
    first = sliced_parameters[0]
    joined = wrap(torch.cat([part._torch for part in sliced_parameters]))
    return Parameter(joined, first.name, first.requires_grad, first.layerwise_parallel)

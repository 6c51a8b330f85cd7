"""All-reduce of gradients over the processes of a training, before the optimizer step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, OperationError
from millrace._src.core.public import public
from millrace._src.runtime.distributed import group_registry as groups
from millrace._src.runtime.distributed import parallel_context
from millrace._src.runtime.distributed.gradient_buckets import GradientReducer
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP
from millrace._src.runtime.tensor.device_placement import ensure_on_device
from millrace._src.runtime.tensor.storage import wrap

from .cell import Cell

__all__ = ["DistributedGradReducer", "PipelineGradReducer"]


@public("nn")
class DistributedGradReducer(Cell):
    """All-reduces gradients over the processes: the sum, or with `mean` the average.

    `mean` and `degree` (the divisor) default to those of the parallel context and of the group. Gradients are
    sent in buckets of some megabytes; parameters with `layerwise_parallel` are skipped. In a
    `TrainOneStepCell` the buckets are sent while the backward pass runs.

    >>> from millrace.communication import init, release
    >>> from millrace._src.core.values.tensor import Tensor
    >>> from millrace._src.runtime.tensor.parameter import Parameter
    >>> init()
    >>> reduce = DistributedGradReducer([Parameter(Tensor([1.0]), "weight")])
    >>> reduce((Tensor([3.0]),))[0].asnumpy().tolist()
    [3.0]
    >>> release()
    """

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = WORLD_GROUP,
    ) -> None:
        super().__init__(auto_prefix=False)
        if degree is not None and (not isinstance(degree, int) or isinstance(degree, bool)):
            raise ArgumentTypeError(
                f"For 'DistributedGradReducer', the argument 'degree' must be int, but got {type(degree).__name__}."
            )
        if degree is not None and degree <= 0:
            raise ArgumentValueError(
                "For 'DistributedGradReducer', the argument 'degree' must be large than 0, "
                f"but got 'degree': {degree}."
            )
        self.mean = parallel_context.get_auto_parallel_context("gradients_mean") if mean is None else mean
        self.degree, self.group = degree, group
        self._is_reduced = tuple(not parameter.layerwise_parallel for parameter in parameters)
        self._weights = tuple(parameters)
        self._dealt: GradientReducer | None = None

    def _buckets(self) -> GradientReducer:
        """The reducer, created on first use: the processes may be initialized after the Cell was created."""
        if self._dealt is None:
            process_group = groups.require_membership(self.group, "DistributedGradReducer")
            factor = 1.0 / (self.degree or process_group.size) if self.mean else 1.0
            weights = [weight._torch for weight in self._weights]
            self.__dict__["_dealt"] = GradientReducer(weights, self._is_reduced, process_group.name, factor)
        assert self._dealt is not None
        return self._dealt

    def begin(self, scale: Any = None) -> Callable[[int, torch.Tensor], None] | None:
        """Start a backward pass. Returns the callback for each gradient, or None if gradients are reduced at
        the end.

        The latter is the case if a hook on a weight must get its gradient first.
        """
        if any(weight.__dict__.get("_gradient_hooks") for weight in self._weights):
            return None
        buckets = self._buckets()
        buckets.begin(None if scale is None else scale._torch)
        return buckets.mark_ready

    def construct(self, grads: Any) -> Any:
        buckets = self._buckets()
        if not buckets.in_progress:
            buckets.begin()
        with torch.no_grad():
            reduced = buckets.finish([ensure_on_device(grad) for grad in grads])
        return tuple(wrap(each) for each in reduced)


@public("nn")
class PipelineGradReducer(Cell):
    """Not supported: networks are not split into pipeline stages here."""

    def __init__(self, parameters: Any, scale_sense: Any = 1.0, opt_shard: Any = None) -> None:
        raise OperationError(
            "'PipelineGradReducer' is for networks that are split into pipeline stages, which Millrace does not "
            "support. Use DistributedGradReducer, with GradAccumulation where a batch is too large for one pass."
        )

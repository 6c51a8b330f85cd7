"""Process group queries of ``mindspore.parallel._utils``, which scripts use."""

from __future__ import annotations

from millrace._src.runtime.distributed.parallel_context import get_auto_parallel_context, reduces_gradients
from millrace._src.runtime.distributed.process_groups import get_group_size, get_rank

__all__ = [
    "_get_device_num",
    "_get_enable_parallel_optimizer",
    "_get_gradients_mean",
    "_get_parallel_mode",
    "_get_parameter_broadcast",
    "_get_global_rank",
    "_is_pynative_parallel",
    "reduces_gradients",
]


def _get_parallel_mode() -> str:
    """The parallel mode of the context."""
    return str(get_auto_parallel_context("parallel_mode"))


def _get_gradients_mean() -> bool:
    """Whether gradients are averaged over processes instead of summed."""
    return bool(get_auto_parallel_context("gradients_mean"))


def _get_device_num() -> int:
    """The number of processes."""
    named = int(get_auto_parallel_context("device_num"))
    return named if named > 1 else get_group_size()


def _get_global_rank() -> int:
    """The rank of this process."""
    return int(get_auto_parallel_context("global_rank")) or get_rank()


def _get_parameter_broadcast() -> bool:
    """Whether all processes start from the values of rank 0."""
    return bool(get_auto_parallel_context("parameter_broadcast"))


def _get_enable_parallel_optimizer() -> bool:
    """Whether the state of the optimizer is divided among the processes."""
    return bool(get_auto_parallel_context("enable_parallel_optimizer"))


def _is_pynative_parallel() -> bool:
    """Whether operations are sharded outside of graphs: never."""
    return False

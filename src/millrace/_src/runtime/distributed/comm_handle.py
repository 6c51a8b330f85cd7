"""Synchronous and asynchronous collective calls, and the handle to wait for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD_GROUP, ProcessGroup, require_membership
from millrace._src.runtime.ops.collective.torch_library_ops import ASYNC_COLLECTIVES, PendingCollective
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.device_placement import ensure_on_device
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["CommHandle", "run_collective", "group_of", "group_rank", "to_torch", "to_torch_list"]


class CommHandle:
    """Handle of an asynchronous call: after ``wait()`` its result may be used."""

    def __init__(
        self, pending: PendingCollective | None = None, then: Callable[[], None] | None = None
    ) -> None:
        self._pending, self._then = pending, then

    def wait(self) -> None:
        """Block until the result is available."""
        if self._pending is not None:
            self._pending.wait()
            self._pending = None
        if self._then is not None:
            self._then()
            self._then = None


def run_collective(
    name: str,
    run_sync: Callable[[], torch.Tensor | None],
    args: tuple[Any, ...],
    async_op: bool,
) -> tuple[torch.Tensor | None, CommHandle | None]:
    """Run a collective: synchronously and differentiable, or asynchronously outside of capture and
    differentiation.
    """
    if not async_op:
        return run_sync(), None
    if modes.thread_state.capturing or modes.thread_state.differentiation_depth:
        return run_sync(), CommHandle()
    pending = ASYNC_COLLECTIVES[name](*args)
    return pending.result, CommHandle(pending)


def group_of(group: Any, owner: str) -> ProcessGroup:
    """A group by its name; None is the world group."""
    return require_membership(WORLD_GROUP if group is None else group, owner)


def group_rank(group: ProcessGroup, rank: Any, name: str, owner: str) -> int:
    """The group rank of a world rank."""
    if not isinstance(rank, int) or isinstance(rank, bool):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be int, but got {type(rank).__name__}."
        )
    if rank not in group.ranks:
        raise ArgumentValueError(
            f"For '{owner}', '{name}' must be one of the ranks {list(group.ranks)} of group '{group.name}', but got "
            f"{rank}."
        )
    return group.ranks.index(rank)


def to_torch(value: Any, name: str, owner: str) -> torch.Tensor:
    """The PyTorch tensor of an argument that must be a Tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be Tensor, but got {type(value).__name__}."
        )
    return ensure_on_device(value)


def to_torch_list(values: Any, name: str, owner: str) -> list[torch.Tensor]:
    """The PyTorch tensors of a list of Tensors."""
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be a list of Tensors, but got {type(values).__name__}."
        )
    return [to_torch(value, name, owner) for value in values]


def wrap_tensors(values: Sequence[torch.Tensor]) -> tuple[Tensor, ...]:
    """Convert PyTorch tensors to Tensors."""
    return tuple(wrap(value) for value in values)

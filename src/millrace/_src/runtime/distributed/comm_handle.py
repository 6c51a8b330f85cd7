"""Collective calls that may go on behind the caller: a result, and a handle to wait with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.distributed.group_registry import WORLD, Group, members_only
from millrace._src.runtime.ops.collective.torch_library_ops import BEGIN, Pending
from millrace._src.runtime.tensor.backend import execution_mode as modes
from millrace._src.runtime.tensor.device_placement import on_device
from millrace._src.runtime.tensor.storage import wrap

__all__ = ["CommHandle", "call", "group_of", "place_in", "raw", "raws"]


class CommHandle:
    """What an asynchronous call gives: ``wait()`` returns when its result may be used."""

    def __init__(self, pending: Pending | None = None, then: Callable[[], None] | None = None) -> None:
        self._pending, self._then = pending, then

    def wait(self) -> None:
        """Wait until the result is there."""
        if self._pending is not None:
            self._pending.wait()
            self._pending = None
        if self._then is not None:
            self._then()
            self._then = None


def call(
    name: str,
    plain: Callable[[], torch.Tensor | None],
    args: tuple[Any, ...],
    async_op: bool,
) -> tuple[torch.Tensor | None, CommHandle | None]:
    """Run a collective: at once, with its gradient; or behind the caller, where nobody wants one or records."""
    if not async_op:
        return plain(), None
    if modes.state.recording or modes.state.watching:
        return plain(), CommHandle()
    pending = BEGIN[name](*args)
    return pending.result, CommHandle(pending)


def group_of(group: Any, owner: str) -> Group:
    """A group by its name; None is the world."""
    return members_only(WORLD if group is None else group, owner)


def place_in(group: Group, rank: Any, name: str, owner: str) -> int:
    """The place in the group of a rank of the world."""
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


def raw(value: Any, name: str, owner: str) -> torch.Tensor:
    """The tensor of PyTorch inside an argument that must be a Tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be Tensor, but got {type(value).__name__}."
        )
    return on_device(value)


def raws(values: Any, name: str, owner: str) -> list[torch.Tensor]:
    """The same of a list."""
    if not isinstance(values, (list, tuple)):
        raise ArgumentTypeError(
            f"For '{owner}', the argument '{name}' must be a list of Tensors, but got {type(values).__name__}."
        )
    return [raw(value, name, owner) for value in values]


def wrapped(values: Sequence[torch.Tensor]) -> tuple[Tensor, ...]:
    """Tensors of ours."""
    return tuple(wrap(value) for value in values)

"""A GPU after fork: refused with the reason, where PyTorch or the driver would fail, hang or crash.

A forked process has its parent's tensors on the card and a driver that does not work. In a worker of a pipeline, and in
any child of a process that has used the card, every call that would reach the driver is stopped first.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from millrace._src.core.machine.worker_devices import refusal, when_entered

from .torch_private import DispatchMode, bad_fork, stop_cuda

__all__ = ["Guard", "forked"]

# Whether this process was forked, as a worker or from one that had used the card.
forked = False


class Guard(DispatchMode):
    """Stops every operation with a tensor that lies on a card."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(map(_on_card, (*args, *kwargs.values()))):
            raise refusal("fork", "GPU", str(func.name() if hasattr(func, "name") else func))
        return func(*args, **kwargs)


def _on_card(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_cuda
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, (list, tuple)) and any(map(_on_card, value))


def _refuse_to_begin() -> None:
    raise refusal("fork", "GPU", "the first use of the GPU")


def _close_the_card() -> None:
    """From here on nothing of this process reaches the driver."""
    global forked
    if forked:
        return
    forked = True
    stop_cuda(_refuse_to_begin)
    if bad_fork():  # there may be tensors on the card
        Guard().__enter__()


def _after_fork() -> None:
    if bad_fork():
        _close_the_card()


def _in_worker(how: str) -> None:
    if how == "fork":
        _close_the_card()


os.register_at_fork(after_in_child=_after_fork)
when_entered(_in_worker)

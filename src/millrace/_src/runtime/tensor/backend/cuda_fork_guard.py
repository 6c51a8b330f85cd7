"""A GPU after fork: refused with the reason, where PyTorch or the driver would fail, hang or crash.

A forked process has its parent's tensors on the card and a driver that does not work. In a worker of a pipeline, and in
any child of a process that has used the card, every call that would reach the driver is stopped first.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from millrace._src.core.machine.worker_devices import on_worker_start, unsupported_error

from .torch_private import DispatchMode, block_cuda_init, is_in_bad_fork

__all__ = ["CudaForkGuard", "is_forked_process"]

# Whether this process was forked, as a worker or from one that had used the card.
is_forked_process = False


class CudaForkGuard(DispatchMode):
    """Stops every operation with a tensor that lies on a card."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if any(map(_is_on_gpu, (*args, *kwargs.values()))):
            raise unsupported_error("fork", "GPU", str(func.name() if hasattr(func, "name") else func))
        return func(*args, **kwargs)


def _is_on_gpu(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.is_cuda
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, (list, tuple)) and any(map(_is_on_gpu, value))


def _refuse_cuda_init() -> None:
    raise unsupported_error("fork", "GPU", "the first use of the GPU")


def _disable_cuda() -> None:
    """From here on nothing of this process reaches the driver."""
    global is_forked_process
    if is_forked_process:
        return
    is_forked_process = True
    block_cuda_init(_refuse_cuda_init)
    if is_in_bad_fork():  # there may be tensors on the card
        CudaForkGuard().__enter__()


def _after_fork() -> None:
    if is_in_bad_fork():
        _disable_cuda()


def _on_worker_start(how: str) -> None:
    if how == "fork":
        _disable_cuda()


os.register_at_fork(after_in_child=_after_fork)
on_worker_start(_on_worker_start)

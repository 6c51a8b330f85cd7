"""Errors for CUDA use after fork, where PyTorch or the driver would fail, hang or crash.

A forked process inherits its parent's GPU tensors and a driver that does not work. In a forked pipeline
worker, and in any child of a process that has used the GPU, calls that would reach the driver raise an error.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from millrace._src.core.machine.worker_devices import on_worker_start, unsupported_error

from .torch_private import DispatchMode, block_cuda_init, is_in_bad_fork

__all__ = ["CudaForkGuard", "is_forked_process"]

# Whether this process was forked, as a worker or from a process that had used the GPU.
is_forked_process = False


class CudaForkGuard(DispatchMode):
    """Raises an error for every operation with a GPU tensor."""

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
    """Make every later use of CUDA in this process an error."""
    global is_forked_process
    if is_forked_process:
        return
    is_forked_process = True
    block_cuda_init(_refuse_cuda_init)
    if is_in_bad_fork():  # there may be tensors on the GPU
        CudaForkGuard().__enter__()


def _after_fork() -> None:
    if is_in_bad_fork():
        _disable_cuda()


def _on_worker_start(how: str) -> None:
    if how == "fork":
        _disable_cuda()


os.register_at_fork(after_in_child=_after_fork)
on_worker_start(_on_worker_start)

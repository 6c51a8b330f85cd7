"""Pinned host memory for batches of a pipeline.

A GPU reads pinned memory asynchronously; other memory must be copied to pinned memory first. The engine allocates
batches in pinned memory and writes rows directly into it. Shared memory of worker processes is pinned in place, once
per reused block.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from millrace._src.core.log import get_logger
from millrace._src.core.machine.host_allocator import HostAllocator

__all__ = ["PinnedAllocator", "allocator_for"]

log = get_logger(__name__)


def allocator_for(device: str) -> HostAllocator:
    """The allocator of batches for this device.

    >>> type(allocator_for("cpu")).__name__
    'HostAllocator'
    """
    return PinnedAllocator(device) if device.startswith("cuda") else HostAllocator()


class PinnedAllocator(HostAllocator):
    """Allocator of page-locked memory, which a GPU reads asynchronously."""

    # allocation is slow, so freed blocks are cached
    max_spare = 16

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        # limit reached: further batches use pageable memory, which is copied for the transfer
        self._refused = False

    def make(self, size: int) -> npt.NDArray[np.uint8]:
        buffer: npt.NDArray[np.uint8]
        if not self._refused:
            try:
                # worker threads would create a context on the first GPU
                with torch.cuda.device(self.device):
                    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy()
                return buffer
            except RuntimeError as error:
                self._refused = True
                log.warning(
                    "no more pinned memory (%d bytes requested): transfers are slower: %s", size, error
                )
        return super().make(size)

    def accepts(self, array: npt.NDArray[Any]) -> bool:
        if self._refused:
            return True
        return array.flags.writeable and torch.from_numpy(array.reshape(-1).view(np.uint8)).is_pinned()

    def pin_external(self, shared: npt.NDArray[np.uint8]) -> None:
        mapping: Any = shared.base
        runtime = torch.cuda.cudart()
        with torch.cuda.device(self.device):
            status = runtime.cudaHostRegister(mapping.address, mapping.size, 0)
        if int(status):  # only slower
            log.info("shared memory of %d bytes could not be pinned (error %d)", mapping.size, int(status))
            return
        mapping.before_end = functools.partial(_release, runtime, mapping.address)


def _release(runtime: Any, address: int) -> None:
    runtime.cudaHostUnregister(address)

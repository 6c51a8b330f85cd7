"""Where a pipeline puts its batches when a device follows: memory that the device fetches from by itself.

A GPU reads pinned memory over the bus while the host goes on; other memory has to be copied into such first. So the
engine is lent pinned memory and writes rows straight into it. Worker processes write into memory that they share with
this one: it is pinned where it is, once for each of the slabs that are used again and again.
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
    """Whose memory batches for this device are put into.

    >>> type(allocator_for("cpu")).__name__
    'Lender'
    """
    return PinnedAllocator(device) if device.startswith("cuda") else HostAllocator()


class PinnedAllocator(HostAllocator):
    """Memory that stays where it is, so that a GPU can fetch from it while the host goes on."""

    # it takes long to make, and a ring of batches comes and goes
    max_spare = 16

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        # the system gives no more of it: from then on batches lie in plain memory, and are copied on their way
        self._refused = False

    def make(self, size: int) -> npt.NDArray[np.uint8]:
        buffer: npt.NDArray[np.uint8]
        if not self._refused:
            try:
                # workers' threads would begin a context on the first card
                with torch.cuda.device(self.device):
                    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=True).numpy()
                return buffer
            except RuntimeError as error:
                self._refused = True
                log.warning("no more pinned memory (%d bytes wanted): batches take longer: %s", size, error)
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
        if int(status):  # it is only slower
            log.info("shared memory of %d bytes could not be pinned (error %d)", mapping.size, int(status))
            return
        mapping.before_end = functools.partial(_release, runtime, mapping.address)


def _release(runtime: Any, address: int) -> None:
    runtime.cudaHostUnregister(address)

"""Transfer one batch to a device through pinned memory on a separate stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch

from millrace._src.core.values.offload import OffloadPlan
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import TORCH_DTYPES, wrap

from .batch_transforms import BatchTransforms
from .gpu_idle_time import GpuIdleTimer

__all__ = ["TransferredBatch", "BatchTransfer", "create_transfer", "size_of"]


class TransferredBatch(NamedTuple):
    """Values of a batch in column order, with the state of the pipeline after it."""

    values: list[Any]
    size: int
    state: Any = None
    # CUDA event at the end of the copy, for the stream that uses the batch
    ready: Any = None


class BatchTransfer(Protocol):
    """Interface: transfer batches of host arrays to one device."""

    transforms: BatchTransforms | None
    # idle time measured by the device, if it can
    idle: GpuIdleTimer | None

    def send(self, values: Sequence[Any], size: int, state: Any) -> TransferredBatch:
        """Start the transfer; the batch may be used after its event."""

    def receive(self, batch: TransferredBatch) -> list[Any]:
        """The values, for use in the current stream."""

    def finish(self) -> None:
        """Wait for the running transfer, and release its host memory."""


def size_of(values: Sequence[Any]) -> int:
    """Bytes of a batch.

    >>> size_of([Tensor([[1.0, 2.0, 3.0]]), Tensor([7, 8])])
    28
    """
    return sum(value.nbytes for value in values if isinstance(value, Tensor))


def create_transfer(device: str, work: OffloadPlan | None = None) -> BatchTransfer:
    """Create the transfer to a device, `"cpu"` or `"cuda:0"`; `work` are the offloaded transforms."""
    transforms = None if work is None else BatchTransforms(work)
    return (
        CudaTransfer(torch.device(device), transforms)
        if device.startswith("cuda")
        else HostTransfer(transforms)
    )


class HostTransfer:
    """No transfer: the device is the CPU. It runs offloaded transforms in tests."""

    def __init__(self, transforms: BatchTransforms | None = None) -> None:
        self.transforms = transforms
        self.idle: GpuIdleTimer | None = None

    def send(self, values: Sequence[Any], size: int, state: Any) -> TransferredBatch:
        if self.transforms is not None:
            values = self.transforms(values, lambda tensor: tensor)
        return TransferredBatch(list(values), size, state)

    def receive(self, batch: TransferredBatch) -> list[Any]:
        return batch.values

    def finish(self) -> None: ...


class CudaTransfer:
    """Transfer to a GPU from pinned memory on a side stream; other memory is copied to pinned memory first."""

    def __init__(self, device: torch.device, transforms: BatchTransforms | None = None) -> None:
        self.device, self.transforms = device, transforms
        # high priority: its short kernels run before the long kernels of the step
        self.stream = torch.cuda.Stream(device, priority=-1)
        # the batch in transfer: its memory is reusable after the copy if nothing else references it
        self._before: tuple[Any, Sequence[Any]] | None = None
        self.idle: GpuIdleTimer | None = GpuIdleTimer(device)

    def send(self, values: Sequence[Any], size: int, state: Any) -> TransferredBatch:
        host_values = values
        self.finish()  # one transfer at a time: its time is measurable, and pinned memory is bounded
        with torch.cuda.stream(self.stream):
            if self.transforms is not None:
                values = self.transforms(values, self._moved)
            device_values = [
                wrap(self._moved(value._torch)) if _is_numeric(value) else value for value in values
            ]
            ready = torch.cuda.Event()
            ready.record(self.stream)
        self._before = ready, host_values
        return TransferredBatch(device_values, size, state, ready)

    def receive(self, batch: TransferredBatch) -> list[Any]:
        current = torch.cuda.current_stream(self.device)
        current.wait_event(batch.ready)
        if self.idle is not None:
            self.idle.mark_delivery()
        for value in batch.values:
            if _is_numeric(value):
                # the allocator does not reuse its memory before the step has ended
                value._torch.record_stream(current)
        return batch.values

    def finish(self) -> None:
        if self._before is not None:
            self._before[0].synchronize()
            self._before = None

    def _moved(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device == self.device:
            return tensor
        if not tensor.is_pinned():
            # PyTorch caches pinned memory and reuses it after its copies
            pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            pinned.copy_(tensor)
            tensor = pinned
        return tensor.to(self.device, non_blocking=True)


def _is_numeric(value: Any) -> bool:
    """Whether a value is a numeric tensor; text and dicts stay on the host."""
    return isinstance(value, Tensor) and value.dtype in TORCH_DTYPES

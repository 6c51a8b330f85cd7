"""Moving one batch to a device: through pinned memory and on a stream of its own where the device has one."""

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
    """Values of a batch in the order of its columns, with where the pipeline stood after it."""

    values: list[Any]
    size: int
    state: Any = None
    # what says that the copy has ended (a CUDA event), for the stream that uses it
    ready: Any = None


class BatchTransfer(Protocol):
    """Takes batches of host arrays to one device."""

    transforms: BatchTransforms | None
    # what the device itself says of its waiting, where it can
    idle: GpuIdleTimer | None

    def send(self, values: Sequence[Any], size: int, state: Any) -> TransferredBatch:
        """Begin to move; the batch may be used by whoever waits for its event."""

    def receive(self, batch: TransferredBatch) -> list[Any]:
        """The values, for use in the stream that is current."""

    def finish(self) -> None:
        """Nothing more is sent: wait for what is on its way, and let go of what it was sent from."""


def size_of(values: Sequence[Any]) -> int:
    """Bytes of a batch.

    >>> size_of([Tensor([[1.0, 2.0, 3.0]]), Tensor([7, 8])])
    28
    """
    return sum(value.nbytes for value in values if isinstance(value, Tensor))


def create_transfer(device: str, work: OffloadPlan | None = None) -> BatchTransfer:
    """The way to a device, `"cpu"` or `"cuda:0"`; `work` is what is left to do there."""
    transforms = None if work is None else BatchTransforms(work)
    return (
        CudaTransfer(torch.device(device), transforms)
        if device.startswith("cuda")
        else HostTransfer(transforms)
    )


class HostTransfer:
    """The device is the CPU: nothing moves. It does a card's work where it stands for one, in tests."""

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
    """A GPU: it fetches from pinned memory on a side stream; what lies elsewhere is copied into such memory first."""

    def __init__(self, device: torch.device, transforms: BatchTransforms | None = None) -> None:
        self.device, self.transforms = device, transforms
        # its kernels are short: they go first, and the step's long ones fill the card behind them
        self.stream = torch.cuda.Stream(device, priority=-1)
        # the batch on its way: its memory is the pipeline's again when the copy has ended and nobody else holds it
        self._before: tuple[Any, Sequence[Any]] | None = None
        self.idle: GpuIdleTimer | None = GpuIdleTimer(device)

    def send(self, values: Sequence[Any], size: int, state: Any) -> TransferredBatch:
        host_values = values
        self.finish()  # one on its way at a time: what moving takes is seen, and pinned memory bounded
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
                # its memory is not given out again before the step is over
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
            # PyTorch keeps pinned memory and hands it out again once the copies from it have ended
            pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            pinned.copy_(tensor)
            tensor = pinned
        return tensor.to(self.device, non_blocking=True)


def _is_numeric(value: Any) -> bool:
    """A tensor of numbers; text, dicts and the like stay on the host."""
    return isinstance(value, Tensor) and value.dtype in TORCH_DTYPES

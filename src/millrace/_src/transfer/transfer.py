"""Moving one batch to a device: through pinned memory and on a stream of its own where the device has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import torch

from millrace._src.core.values.offload import CardWork
from millrace._src.core.values.tensor import Tensor
from millrace._src.runtime.tensor.storage import TO_TORCH, wrap

from .batch_transforms import Card
from .gpu_idle_time import Idle

__all__ = ["Batch", "Mover", "mover_for", "size_of"]


class Batch(NamedTuple):
    """Values of a batch in the order of its columns, with where the pipeline stood after it."""

    values: list[Any]
    size: int
    state: Any = None
    # what says that the copy has ended (a CUDA event), for the stream that uses it
    ready: Any = None


class Mover(Protocol):
    """Takes batches of host arrays to one device."""

    card: Card | None
    # what the device itself says of its waiting, where it can
    idle: Idle | None

    def send(self, values: Sequence[Any], size: int, state: Any) -> Batch:
        """Begin to move; the batch may be used by whoever waits for its event."""

    def receive(self, batch: Batch) -> list[Any]:
        """The values, for use in the stream that is current."""

    def finish(self) -> None:
        """Nothing more is sent: wait for what is on its way, and let go of what it was sent from."""


def size_of(values: Sequence[Any]) -> int:
    """Bytes of a batch.

    >>> size_of([Tensor([[1.0, 2.0, 3.0]]), Tensor([7, 8])])
    28
    """
    return sum(value.nbytes for value in values if isinstance(value, Tensor))


def mover_for(device: str, work: CardWork | None = None) -> Mover:
    """The way to a device, `"cpu"` or `"cuda:0"`; `work` is what is left to do there."""
    card = None if work is None else Card(work)
    return Cuda(torch.device(device), card) if device.startswith("cuda") else Host(card)


class Host:
    """The device is the CPU: nothing moves. It does a card's work where it stands for one, in tests."""

    def __init__(self, card: Card | None = None) -> None:
        self.card = card
        self.idle: Idle | None = None

    def send(self, values: Sequence[Any], size: int, state: Any) -> Batch:
        if self.card is not None:
            values = self.card(values, lambda tensor: tensor)
        return Batch(list(values), size, state)

    def receive(self, batch: Batch) -> list[Any]:
        return batch.values

    def finish(self) -> None: ...


class Cuda:
    """A GPU: it fetches from pinned memory on a side stream; what lies elsewhere is copied into such memory first."""

    def __init__(self, device: torch.device, card: Card | None = None) -> None:
        self.device, self.card = device, card
        # its kernels are short: they go first, and the step's long ones fill the card behind them
        self.stream = torch.cuda.Stream(device, priority=-1)
        # the batch on its way: its memory is the pipeline's again when the copy has ended and nobody else holds it
        self._before: tuple[Any, Sequence[Any]] | None = None
        self.idle: Idle | None = Idle(device)

    def send(self, values: Sequence[Any], size: int, state: Any) -> Batch:
        given = values
        self.finish()  # one on its way at a time: what moving takes is seen, and pinned memory bounded
        with torch.cuda.stream(self.stream):
            if self.card is not None:
                values = self.card(values, self._moved)
            made = [wrap(self._moved(value._torch)) if _numeric(value) else value for value in values]
            ready = torch.cuda.Event()
            ready.record(self.stream)
        self._before = ready, given
        return Batch(made, size, state, ready)

    def receive(self, batch: Batch) -> list[Any]:
        current = torch.cuda.current_stream(self.device)
        current.wait_event(batch.ready)
        if self.idle is not None:
            self.idle.given()
        for value in batch.values:
            if _numeric(value):
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


def _numeric(value: Any) -> bool:
    """A tensor of numbers; text, dicts and the like stay on the host."""
    return isinstance(value, Tensor) and value.dtype in TO_TORCH

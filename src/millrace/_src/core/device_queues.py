"""Registry of open device queues, and of the layer that transfers batches to a device.

The data pipeline does not import PyTorch or the transfer layer. The package registers a loader, which runs when the
layer is first needed. ``ops.GetNext`` looks a queue up by name; the monitor lists all of them.
"""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import Any

from .errors import DeviceQueueError
from .statistics import RunStats

__all__ = [
    "TransferCounts",
    "open_queues",
    "find_queue",
    "device_layer",
    "register_queue",
    "register_device_layer",
]


@dataclasses.dataclass(frozen=True)
class TransferCounts:
    """Snapshot of the counters of a device queue; all but the fill levels only increase."""

    name: str
    device: str
    sent: int
    taken: int
    bytes: int
    # batches in the ring buffers of host and device, and their slots; a CPU device has no host ring
    host: int
    host_slots: int
    ring: int
    ring_slots: int
    # seconds: waiting for the pipeline, transferring, waiting for a free slot; steps waiting, and computing
    data: float
    moving: float
    full: float
    waited: float
    stepping: float
    ended: str
    pipeline_stats: RunStats | None


_loaders: list[Callable[[], Any]] = []
_open: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()


def register_device_layer(load: Callable[[], Any]) -> None:
    """Register the function that loads the transfer layer and returns its module."""
    _loaders[:] = [load]


def device_layer() -> Any:
    """The transfer layer, with ``device_queue`` and ``device_iterator``; an error names a missing extra."""
    return _loaders[0]()


def register_queue(name: str, channel: Any) -> None:
    """Register an open queue under its name."""
    _open[name] = channel


def open_queues() -> list[Any]:
    """All queues that are alive: each has ``look()``, which returns TransferCounts, and ``diagnosis()``."""
    return list(_open.values())


def find_queue(name: str) -> Any:
    """The queue of that name; an error lists the open ones."""
    channel = _open.get(name)
    if channel is None:
        known = ", ".join(sorted(_open)) or "none"
        raise DeviceQueueError(
            f"there is no channel {name!r}; open ones: {known}. dataset.device_que() makes one: keep what it gives, "
            "since a channel ends when nobody holds it"
        )
    return channel

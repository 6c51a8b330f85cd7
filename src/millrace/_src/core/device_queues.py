"""The door between the wings: who takes a dataset's batches to a device, and which channels to devices are open.

The data wing imports no PyTorch and knows no sink; the package enters a loader, which runs when it is first needed. A
step that knows only the name of a channel (``ops.GetNext``) finds it here, and so does the monitor, which shows all.
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
    """A channel to a device at one moment; what is not a fill counts up."""

    name: str
    device: str
    sent: int
    taken: int
    bytes: int
    # batches in the host's ring and in the device's, and the room of each; the host has none where it is the device
    host: int
    host_slots: int
    ring: int
    ring_slots: int
    # seconds: waiting for the pipeline, moving, waiting for room; steps that waited, and that computed
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
    """Enter what loads the sink; it gives its module."""
    _loaders[:] = [load]


def device_layer() -> Any:
    """The sink, with ``device_queue`` and ``device_iterator``; an error names the extra where it is missing."""
    return _loaders[0]()


def register_queue(name: str, channel: Any) -> None:
    """Make an open channel known under its name."""
    _open[name] = channel


def open_queues() -> list[Any]:
    """All that are held by somebody: each has ``look()``, which gives ChannelCounts, and ``verdict()``."""
    return list(_open.values())


def find_queue(name: str) -> Any:
    """The channel of that name; an error lists those that are open."""
    channel = _open.get(name)
    if channel is None:
        known = ", ".join(sorted(_open)) or "none"
        raise DeviceQueueError(
            f"there is no channel {name!r}; open ones: {known}. dataset.device_que() makes one: keep what it gives, "
            "since a channel ends when nobody holds it"
        )
    return channel

"""Where the wings meet: batches of a pipeline on a device, moved there while the step before them runs."""

from __future__ import annotations

from .by_hand import DeviceIterator, DeviceQueue, device_iterator, device_queue, info_of
from .channel import Channel
from .feed import Feed, source_of
from .verdict import Verdict, judge

__all__ = [
    "Channel",
    "DeviceIterator",
    "DeviceQueue",
    "Feed",
    "Verdict",
    "device_iterator",
    "device_queue",
    "info_of",
    "judge",
    "source_of",
]

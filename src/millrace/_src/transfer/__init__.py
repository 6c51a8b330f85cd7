"""Where the wings meet: batches of a pipeline on a device, moved there while the step before them runs."""

from __future__ import annotations

from millrace._src.core.transfer_statistics import Channel
from millrace._src.observe.transfer_diagnosis import Verdict, judge

from .device_queue import DeviceIterator, DeviceQueue, device_iterator, device_queue, queue_info
from .prefetcher import DevicePrefetcher, create_device_source

__all__ = [
    "Channel",
    "DeviceIterator",
    "DeviceQueue",
    "DevicePrefetcher",
    "Verdict",
    "device_iterator",
    "device_queue",
    "queue_info",
    "judge",
    "create_device_source",
]

"""Host-to-device transfer of batches for custom loops: ``from millrace.transfer import device_iterator``."""

from millrace._src.transfer import (
    Channel,
    DeviceIterator,
    DevicePrefetcher,
    DeviceQueue,
    Verdict,
    create_device_source,
    device_iterator,
    device_queue,
    judge,
    queue_info,
)

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

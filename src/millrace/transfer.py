"""Host-to-device transfer of batches for custom loops: ``from millrace.transfer import device_iterator``."""

from millrace._src.transfer import (
    Channel,
    DeviceIterator,
    DeviceQueue,
    Feed,
    Verdict,
    device_iterator,
    device_queue,
    info_of,
    judge,
    source_of,
)

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

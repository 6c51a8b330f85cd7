"""Host-to-device transfer of batches for custom loops: ``from millrace.transfer import device_iterator``."""

from millrace._src.transfer import (
    DeviceIterator,
    DevicePrefetcher,
    DeviceQueue,
    TransferDiagnosis,
    TransferStatistics,
    create_device_source,
    device_iterator,
    device_queue,
    diagnose_transfer,
    queue_info,
)

__all__ = [
    "TransferStatistics",
    "DeviceIterator",
    "DeviceQueue",
    "DevicePrefetcher",
    "TransferDiagnosis",
    "device_iterator",
    "device_queue",
    "queue_info",
    "diagnose_transfer",
    "create_device_source",
]

"""Host-to-device transfer of batches, overlapped with the previous training step."""

from __future__ import annotations

from millrace._src.core.transfer_statistics import TransferStatistics
from millrace._src.observe.transfer_diagnosis import TransferDiagnosis, diagnose_transfer

from .device_queue import DeviceIterator, DeviceQueue, device_iterator, device_queue, queue_info
from .prefetcher import DevicePrefetcher, create_device_source

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

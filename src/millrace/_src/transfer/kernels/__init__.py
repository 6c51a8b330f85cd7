"""Batch kernels of offloaded transforms: functions on PyTorch tensors, for GPU and CPU.

Each computes the result of the transform of its name for every row, bit for bit or within the tolerance of its step
(core/values/offload.py).
"""

from __future__ import annotations

from .crop_resize import Images, crop_and_resize_batch
from .nvjpeg import decode_jpeg_batch
from .pixel_ops import KERNELS

__all__ = ["KERNELS", "Images", "decode_jpeg_batch", "crop_and_resize_batch"]

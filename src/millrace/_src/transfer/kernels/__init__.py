"""What a card does to whole batches: functions on PyTorch tensors, which run on a CPU as well.

Each gives what the transform of its name gives for every row, bit for bit, or as near as its step says (core/card.py).
"""

from __future__ import annotations

from .crop_resize import Images, crop_and_resize_batch
from .nvjpeg import decode_jpeg_batch
from .pixel_ops import KERNELS

__all__ = ["KERNELS", "Images", "decode_jpeg_batch", "crop_and_resize_batch"]

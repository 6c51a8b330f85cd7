"""Decode a region of a JPEG; rows below it are never read.

With the system's libturbojpeg of version 3 (its TurboJPEG interface, through ctypes), pixels left, right and above are
not computed either. Without it, simplejpeg decodes the rows down to the end of the region (``jpeg_rows``). Callers
decode the whole of a file that cannot be decoded in part. The pixels are the same in each case.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from .jpeg_rows import Box, decode_upper_rows
from .validation import Array

__all__ = ["END", "Box", "decode_jpeg_region", "library"]

# TurboJPEG's constants: type of a handle, its parameters, pixel format
_DECOMPRESS, _RGB = 1, 0
_SUBSAMPLING, _WIDTH, _HEIGHT, _PRECISION, _COLOURS = 4, 5, 6, 7, 8
_SUPPORTED_COLOURS = (1, 2)  # YCbCr and grey
# width of the chroma blocks by subsampling: 4:4:4, 4:2:2, 4:2:0, grey, 4:4:0, 4:1:1, 4:4:1
_BLOCK_WIDTHS = (8, 16, 16, 8, 8, 32, 8)
# the end marker of a complete file
END = b"\xff\xd9"


class _Region(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_int) for name in ("x", "y", "w", "h"))


class _Scale(ctypes.Structure):
    _fields_ = (("num", ctypes.c_int), ("denom", ctypes.c_int))


class _Library:
    """TurboJPEG's functions. Short calls keep the GIL: releasing and acquiring it costs more than they do."""

    def __init__(self, path: str) -> None:
        short, long = ctypes.PyDLL(path), ctypes.CDLL(path)
        handle, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        self.init = _declare_function(short.tj3Init, handle, number)
        self.destroy = _declare_function(short.tj3Destroy, None, handle)
        self.get = _declare_function(short.tj3Get, number, handle, number)
        self.header = _declare_function(short.tj3DecompressHeader, number, handle, handle, size)
        self.region = _declare_function(short.tj3SetCroppingRegion, number, handle, _Region)
        self.scale = _declare_function(short.tj3SetScalingFactor, number, handle, _Scale)
        self.decompress = _declare_function(
            long.tj3Decompress8, number, handle, handle, size, handle, number, number
        )


def _declare_function(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype, function.argtypes = result, arguments
    return function


@functools.cache
def library() -> _Library | None:
    """The system's libturbojpeg of version 3, which the distribution keeps up to date; None where there is none."""
    importlib.import_module("cv2")  # first: see lazy_imports.py
    for name in ("libturbojpeg.so.0", "libturbojpeg.0.dylib"):
        try:
            return _Library(name)
        except (OSError, AttributeError):  # not there, or older than 3
            continue
    return None


class _Decompressor:
    """A decompressor and its reused output buffer; freed with its thread."""

    def __init__(self, tj: _Library) -> None:
        self._destroy, self.pointer = tj.destroy, tj.init(_DECOMPRESS)
        self.scale_denominator = 1  # the current scale is 1 / scale_denominator
        self.canvas: Array = np.empty(0, np.uint8)
        self.address = 0

    def __del__(self) -> None:
        if self.pointer:
            self._destroy(self.pointer)

    def image_buffer(self, height: int, width: int) -> tuple[Array, int]:
        """Buffer for an image, and its address. The thread's buffer is reused: new memory must be cleared first."""
        size = height * width * 3
        if size > _MAX_CANVAS_BYTES:
            image = np.empty((height, width, 3), np.uint8)
            return image, image.ctypes.data
        if self.canvas.size < size:
            self.canvas = np.empty(size, np.uint8)
            self.address = self.canvas.ctypes.data
        return self.canvas[:size].reshape(height, width, 3), self.address


# A larger image gets a separate buffer.
_MAX_CANVAS_BYTES = 64 << 20

_thread = threading.local()


def _thread_decompressor(tj: _Library) -> _Decompressor:
    decompressor: _Decompressor | None = getattr(_thread, "handle", None)
    if decompressor is None:
        decompressor = _thread.handle = _Decompressor(tj)
    return decompressor


def decode_jpeg_region(
    data: memoryview, factor: Callable[[int, int], int], select_region: Callable[[int, int], Box | None]
) -> Array | None:
    """Decode an RGB image in which only the region ``select_region(height, width)`` is defined.

    The pixels of the region equal those of the whole image bit for bit; all others are undefined, and the thread's next
    image uses the same memory. The image is decoded at 1 / factor(height, width) of its size (1, 2, 4 or 8), and
    ``select_region`` is called with the resulting size. None where the region is the whole image or cannot be decoded
    alone: other colour spaces, a warning, a missing end marker.
    """
    if bytes(data[-2:]) != END:
        return None
    tj = library()
    if tj is None:
        return decode_upper_rows(data, factor, select_region)
    decompressor = _thread_decompressor(tj)
    handle, get = decompressor.pointer, tj.get
    source = np.frombuffer(data, np.uint8)
    start, size = source.__array_interface__["data"][0], source.size
    if tj.header(handle, start, size):
        return None
    height, width, subsampling = get(handle, _HEIGHT), get(handle, _WIDTH), get(handle, _SUBSAMPLING)
    if get(handle, _PRECISION) != 8 or get(handle, _COLOURS) not in _SUPPORTED_COLOURS or subsampling < 0:
        return None
    denominator = factor(height, width)
    if denominator > 1:
        height, width = -(-height // denominator), -(-width // denominator)
    box = select_region(height, width)
    if box is None:
        if denominator == 1:
            return None
        box = (0, 0, height, width)
    if denominator != decompressor.scale_denominator:  # the scale of an earlier image
        if tj.scale(handle, _Scale(1, denominator)):
            return None
        decompressor.scale_denominator = denominator
    top, left, tall, wide = box
    # Chroma of half the width is interpolated across block borders: one more block on each side makes the region exact.
    block = _BLOCK_WIDTHS[subsampling] // denominator or 1
    first = max(0, left // block - 1) * block
    last = min(width, (-(-(left + wide) // block) + 1) * block)
    if tj.region(handle, _Region(first, top, last - first, tall)):
        return None
    image, address = decompressor.image_buffer(height, width)
    pitch = width * 3
    target = address + top * pitch + first * 3
    return None if tj.decompress(handle, start, size, target, pitch, _RGB) else image

"""Decode a region of a grey PNG, such as a crop of a mask.

OpenCV takes 0.7 ms for a mask of 500 x 375. Half of that is decompression, which zlib-ng does ten times as fast; half
is the sum over neighbours that converts filtered rows ("sub") to pixels, which OpenCV's integral image does faster than
libpng. PNG is lossless, so the pixels are the same. All other files (other colours, other filters, animation, damage)
are left to OpenCV.
"""

from __future__ import annotations

import functools
import importlib
import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .lazy_imports import cv2
from .validation import Array

__all__ = ["decode_gray_png_region", "inflater"]

Box = tuple[int, int, int, int]  # top, left, height, width

_START = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
# eight bits, grey, the only compression and filter method, not interlaced
_PLAIN = b"\x08\0\0\0\0"
# chunks that do not affect the pixels; a transparent grey or an animation has other chunks
_HARMLESS = (b"pHYs", b"tEXt", b"tIME")
_NONE, _SUB = 0, 1
# Below 2**23 pixels no sum of bytes needs more than 31 bits.
_MAX_PIXELS = 1 << 23
# After a file with other filters, this many files are left to OpenCV: they were probably written alike.
_PAUSE = 16


@functools.cache
def inflater() -> Any:
    """zlib-ng, or Python's zlib."""
    try:
        return importlib.import_module("zlib_ng.zlib_ng")
    except ImportError:
        return zlib


class _PngBuffers(threading.local):
    """Buffers that a thread reuses: new memory would have to be cleared first."""

    sums: Array | None = None
    canvas: Array | None = None
    pause = 0


_buffers = _PngBuffers()


def decode_gray_png_region(data: memoryview, select_region: Callable[[int, int], Box | None]) -> Array | None:
    """Decode an image <H,W,1> in which only the region ``select_region(height, width)`` is defined.

    All other pixels are undefined, and the thread's next image uses the same memory. None where the file is not a plain
    grey PNG, or where the region is unknown.
    """
    if bytes(data[:16]) != _START or bytes(data[24:29]) != _PLAIN:
        return None
    if _buffers.pause:
        _buffers.pause -= 1
        return None
    width, height = struct.unpack(">II", data[16:24])
    box = select_region(height, width) if 0 < width * height < _MAX_PIXELS else None
    packed = None if box is None else _compressed_pixels(data)
    if box is None or packed is None:
        return None
    rows = _inflate_rows(packed, box[0] + box[2], width + 1)
    return None if rows is None else _undo_filters(rows, box, height, width)


def _compressed_pixels(data: memoryview) -> bytes | None:
    """The compressed pixels; None where a chunk is incomplete or unknown."""
    parts: list[memoryview] = []
    position = 8
    while position + 12 <= len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        end = position + 8 + length
        chunk_type = bytes(data[position + 4 : position + 8])
        if end + 4 > len(data) or zlib.crc32(data[position + 4 : end]) != int.from_bytes(
            data[end : end + 4], "big"
        ):
            return None
        if chunk_type == b"IEND":
            return b"".join(parts)
        if chunk_type == b"IDAT":
            parts.append(data[position + 8 : end])
        elif chunk_type not in _HARMLESS and position > 8:
            return None
        position = end + 4
    return None


def _inflate_rows(packed: bytes, count: int, width: int) -> Array | None:
    """The first rows of the stream, each after the number of its filter."""
    # a window of 32 KB at most, no dictionary, and a check of these two bytes
    if len(packed) < 2 or packed[0] & 15 != 8 or packed[1] & 32 or (packed[0] << 8 | packed[1]) % 31:
        return None
    size = count * width
    zlib_module = inflater()
    try:
        raw = zlib_module.decompressobj(-15).decompress(packed[2:], size)
    except (zlib.error, zlib_module.error):
        return None
    return np.frombuffer(raw, np.uint8).reshape(count, width) if len(raw) == size else None


def _undo_filters(rows: Array, box: Box, height: int, width: int) -> Array | None:
    top, left, tall, wide = box
    rows = rows[top : top + tall]
    filters = rows[:, 0]
    if filters.max() > _SUB:
        _buffers.pause = _PAUSE
        return None
    image = _canvas(height, width)
    part = image[top : top + tall, left : left + wide, 0]
    if filters.any():
        # the integral minus that of the row above is the running sum of the row; bytes wrap around
        sums = cv2.integral(rows[:, 1 : left + wide + 1], _sums(tall + 1, left + wide + 1)).astype(np.uint8)
        np.subtract(sums[1:, left + 1 :], sums[:-1, left + 1 :], out=part)
    plain = np.flatnonzero(filters == _NONE)
    if len(plain):
        part[plain] = rows[plain, left + 1 : left + wide + 1]
    return image


def _sums(height: int, width: int) -> Array:
    size = height * width
    if _buffers.sums is None or _buffers.sums.size < size:
        _buffers.sums = np.empty(size, np.int32)
    return _buffers.sums[:size].reshape(height, width)


def _canvas(height: int, width: int) -> Array:
    size = height * width
    if _buffers.canvas is None or _buffers.canvas.size < size:
        _buffers.canvas = np.empty(size, np.uint8)
    return _buffers.canvas[:size].reshape(height, width, 1)

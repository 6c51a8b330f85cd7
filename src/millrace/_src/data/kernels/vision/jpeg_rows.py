"""Decode the upper rows of a JPEG with simplejpeg; rows below a region are never read.

simplejpeg has no argument for a region. A copy of the file whose frame header has fewer rows makes libjpeg-turbo stop
early: the rows above equal those of the whole file bit for bit, and the unread data is its only warning.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .lazy_imports import simplejpeg
from .validation import Array

__all__ = ["Box", "decode_upper_rows"]

Box = tuple[int, int, int, int]  # top, left, height, width

_START_OF_SCAN, _RESTART_INTERVAL = 0xDA, 0xDD
_BASELINE = (0xC0, 0xC1)  # sequential, Huffman
_UNSUPPORTED_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC0, 0xC1, 0xC4, 0xC8, 0xCC}
# libjpeg reports its first warning. This one is about the rows that were cut off, so there was no other before it.
_EXTRANEOUS_DATA = re.compile(r"Corrupt JPEG data: \d+ extraneous bytes before marker 0xd9")
# For smaller images, several scales give the same size at 1/8.
_LEAST_SCALED = 64
_MAX_CANVAS_BYTES = 64 << 20

_thread = threading.local()


class _Frame(NamedTuple):
    """The frame header, and the offset of the number of rows in it."""

    offset: int
    height: int
    width: int
    block: int  # rows of a chroma block


def decode_upper_rows(
    data: memoryview, factor: Callable[[int, int], int], select_region: Callable[[int, int], Box | None]
) -> Array | None:
    """Decode an RGB image down to the end of the region ``select_region(height, width)``.

    The pixels equal those of the whole image; rows below are undefined, and the next image of this thread uses the same
    memory. The image is decoded at 1 / factor(height, width) of its size (1, 2, 4 or 8), and ``select_region`` is
    called with the resulting size. None where nothing is saved, or where the file is not supported: several scans,
    restart markers, other colour spaces, damage.
    """
    frame = _parse_frame_header(data)
    if frame is None:
        return None
    denominator = factor(frame.height, frame.width)
    if denominator > 1 and min(frame.height, frame.width) < _LEAST_SCALED:
        denominator = 1
    height, width = -(-frame.height // denominator), -(-frame.width // denominator)
    box = select_region(height, width)
    last = height if box is None else box[0] + box[2]
    # chroma of half the height is interpolated across block borders: one more block makes the rows exact
    rows = min(frame.height, (-(-last * denominator // frame.block) + 1) * frame.block)
    if rows == frame.height and denominator == 1:
        return None
    image = _image_buffer(height, width)
    upper = image[: -(-rows // denominator)]
    source: Any = data
    if rows < frame.height:
        source = bytearray(data)
        source[frame.offset : frame.offset + 2] = rows.to_bytes(2, "big")
    scale = {"min_height": upper.shape[0], "min_width": width} if denominator > 1 else {}
    try:
        decoded = simplejpeg.decode_jpeg(
            source, "RGB", fastdct=False, fastupsample=False, buffer=upper.reshape(-1), **scale
        )
    except ValueError as error:
        return image if rows < frame.height and _EXTRANEOUS_DATA.match(str(error)) else None
    return image if rows == frame.height and decoded.shape == upper.shape else None


def _image_buffer(height: int, width: int) -> Array:
    """Buffer for an image. The thread's buffer is reused: new memory would have to be cleared first."""
    size = height * width * 3
    if size > _MAX_CANVAS_BYTES:
        return np.empty((height, width, 3), np.uint8)
    canvas: Array | None = getattr(_thread, "canvas", None)
    if canvas is None or canvas.size < size:
        canvas = _thread.canvas = np.empty(size, np.uint8)
    return canvas[:size].reshape(height, width, 3)


def _parse_frame_header(data: memoryview) -> _Frame | None:
    """The frame header of a baseline file of 8 bits, grey or of three colours, with one scan and no restart markers."""
    frame: _Frame | None = None
    colours, offset, size = 0, 2, len(data)
    while offset + 4 <= size and data[offset] == 0xFF:
        marker, length = data[offset + 1], int.from_bytes(data[offset + 2 : offset + 4], "big")
        body = data[offset + 4 : offset + 2 + length]
        if length < 2 or offset + 2 + length > size or marker in _UNSUPPORTED_FRAMES:
            return None
        if marker == _START_OF_SCAN:
            return frame if frame is not None and len(body) > 0 and body[0] == colours else None
        if marker == _RESTART_INTERVAL and any(body):
            return None
        if marker in _BASELINE:
            if frame is not None or len(body) < 6 or len(body) != 6 + 3 * body[5]:
                return None
            height, width = int.from_bytes(body[1:3], "big"), int.from_bytes(body[3:5], "big")
            colours = body[5]
            if body[0] != 8 or colours not in (1, 3) or not height or not width:
                return None
            block = 8 * max(body[7 + 3 * number] & 15 for number in range(colours))
            frame = _Frame(offset + 5, height, width, block)
        offset += 2 + length
    return None

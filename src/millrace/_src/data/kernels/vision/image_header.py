"""Format and size from the header of an encoded image, and limits on both: files may come from untrusted sources.

The limits are settings (``config.set_max_image_pixels``, ``config.set_max_image_bytes``).
"""

from __future__ import annotations

import io
import struct

from millrace._src.core import settings
from millrace._src.core.errors import DataError

from .lazy_imports import Image

__all__ = ["check_bytes", "check_size", "image_size", "is_grey_png", "image_format"]

Size = tuple[int, int]

_MAGIC = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"BM", "bmp"),
    (b"GIF8", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
)


def image_format(data: bytes | memoryview) -> str:
    """Format of an image by its first bytes, or "" if it is unknown.

    >>> image_format(b"BM...")
    'bmp'
    """
    start = bytes(data[:12])
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((format_name for magic, format_name in _MAGIC if start.startswith(magic)), "")


def image_size(data: bytes | memoryview) -> Size | None:
    """(height, width) in the header, without decoding; None where it has no size.

    >>> image_size(b"GIF89a" + bytes([8, 0, 6, 0]))
    (6, 8)
    """
    format_name = image_format(data)
    try:
        if format_name == "png":
            width, height = struct.unpack(">II", data[16:24])
            return height, width
        if format_name == "bmp":
            width, height = struct.unpack("<ii", data[18:26])
            return abs(height), abs(width)
        if format_name == "gif":
            width, height = struct.unpack("<HH", data[6:10])
            return height, width
        if format_name == "jpeg":
            return _jpeg_size(memoryview(data))
        if format_name == "tiff":
            return _tiff_size(memoryview(data))
    except (struct.error, IndexError):
        return None
    return _size_by_pillow(data)


def is_grey_png(data: bytes | memoryview) -> bool:
    """Whether this is a PNG of 8-bit grey without alpha, such as a mask.

    >>> is_grey_png(b"GIF89a" + bytes(40))
    False
    """
    if image_format(data) != "png" or bytes(data[24:26]) != b"\x08\x00":  # depth 8, colour type 0
        return False
    # a transparent grey and the frames of an animation are separate chunks before the pixels
    start = bytes(data[:4096])
    return b"tRNS" not in start and b"acTL" not in start


# The start-of-frame markers: 0xC0 to 0xCF except tables (C4), an extension (C8) and conditioning (CC).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
# The markers without a length after them.
_BARE = frozenset((0x01, *range(0xD0, 0xDA)))


def _jpeg_size(data: memoryview) -> Size | None:
    """The size in the first frame header; bytes between the segments are skipped, as in libjpeg."""
    position = 2
    while position + 9 <= len(data):
        if data[position] != 0xFF:
            gap = bytes(data[position : position + 4096]).find(b"\xff")
            position += gap if gap >= 0 else 4096
            continue
        marker = data[position + 1]
        if marker == 0xFF:
            position += 1
        elif marker in _BARE:
            position += 2
        elif marker in _FRAMES:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return height, width
        else:
            (length,) = struct.unpack(">H", data[position + 2 : position + 4])
            position += 2 + max(length, 2)
    return None


_WIDTH, _HEIGHT = 256, 257


def _tiff_size(data: memoryview) -> Size | None:
    """The size in the first directory; only that one is decoded."""
    order = "<" if data[0] == 0x49 else ">"
    (start,) = struct.unpack(order + "I", data[4:8])
    (count,) = struct.unpack(order + "H", data[start : start + 2])
    sizes = {}
    for entry in range(start + 2, start + 2 + 12 * count, 12):
        tag, field_type = struct.unpack(order + "HH", data[entry : entry + 4])
        if tag in (_WIDTH, _HEIGHT):
            # type 3 has 16 bits, at the start of its field; all others here have 32
            form, size = ("H", 2) if field_type == 3 else ("I", 4)
            (sizes[tag],) = struct.unpack(order + form, data[entry + 8 : entry + 8 + size])
    return (sizes[_HEIGHT], sizes[_WIDTH]) if len(sizes) == 2 else None


def _size_by_pillow(data: bytes | memoryview) -> Size | None:
    """The size of less common formats, from Pillow."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            return image.size[1], image.size[0]
    except Image.DecompressionBombError:
        return 2**31, 2**31
    except Exception:
        # Pillow's readers raise errors of any class on damaged headers. The decoder reports the damage; OpenCV
        # refuses images of more than 2**30 pixels.
        return None


def check_size(op: str, size: Size | None) -> None:
    """Raise an error for an image whose header claims too many pixels.

    >>> check_size("Decode", (100_000, 100_000))
    Traceback (most recent call last):
    ...
    millrace.errors.DataError: Decode: the image claims 100000 x 100000 pixels; at most 178956970 are decoded \
(config.set_max_image_pixels changes that; a small file with a huge image is damaged or an attack).
    """
    limit = settings.current().max_image_pixels
    if limit is not None and size is not None and size[0] * size[1] > limit:
        raise DataError(
            f"{op}: the image claims {size[0]} x {size[1]} pixels; at most {limit} are decoded "
            "(config.set_max_image_pixels changes that; a small file with a huge image is damaged or an attack)."
        )


def check_bytes(op: str, length: int, what: str = "the encoded image") -> None:
    """Raise an error for encoded data that is too long.

    >>> check_bytes("Decode", 10**12)
    Traceback (most recent call last):
    ...
    millrace.errors.DataError: Decode: the encoded image has 1000000000000 bytes; at most 268435456 are decoded \
(config.set_max_image_bytes changes that).
    """
    limit = settings.current().max_image_bytes
    if limit is not None and length > limit:
        raise DataError(
            f"{op}: {what} has {length} bytes; at most {limit} are decoded (config.set_max_image_bytes changes that)."
        )

"""Encoded images <-> pixels. JPEG through libjpeg-turbo, the rest through OpenCV; nothing huge is decoded."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from millrace.core.errors import ArgumentTypeError, ArgumentValueError, DataError

from .image import Array, describe, is_pil
from .libraries import Image, cv2, simplejpeg

__all__ = ["MOST_PIXELS", "as_bytes", "decode", "decode_to_pil", "image_size", "is_jpeg", "kind_of"]

# OpenCV refuses more than 2**30 pixels, Pillow more than 179 million: an image that claims more is refused
# before a byte of it is decoded.
MOST_PIXELS = 178_956_970

_MAGIC = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"BM", "bmp"),
    (b"GIF8", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
)


def kind_of(data: bytes | memoryview) -> str:
    """Which format the first bytes announce, or "" for none that is known.

    >>> kind_of(b"BM...")
    'bmp'
    """
    start = bytes(data[:12])
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "webp"
    return next((kind for magic, kind in _MAGIC if start.startswith(magic)), "")


def is_jpeg(data: Any) -> bool:
    return bytes(data[:3]) == b"\xff\xd8\xff"


def as_bytes(value: Any, op: str = "Decode") -> memoryview:
    """The encoded bytes: of bytes, of a 1-D array of uint8 or int8, of one bytes value in an array."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return memoryview(value)
    if not isinstance(value, np.ndarray):
        raise ArgumentTypeError(
            f"The type of the encoded image should be {np.ndarray}, but got {type(value)}."
        )
    if value.dtype.kind == "U":
        raise ArgumentTypeError(f"The data type of the encoded image can not be {value.dtype.type}.")
    if value.dtype.kind == "S" and value.size == 1:
        return memoryview(value.reshape(()).item())
    if value.ndim != 1:
        raise ArgumentTypeError(
            f"The number of array dimensions of the encoded image should be 1, but got {value.ndim}."
        )
    if value.dtype.itemsize != 1 or value.dtype.kind not in "iu":
        raise DataError(f"{op}: an encoded image is a 1-D array of uint8, but got {describe(value)}.")
    plain: Any = np.ascontiguousarray(value)  # numpy 2.4's stubs know no buffers
    return memoryview(plain).cast("B")


def image_size(data: memoryview) -> tuple[int, int] | None:
    """(height, width) as the header says, without decoding; None where it does not say."""
    kind = kind_of(data)
    try:
        if kind == "jpeg":
            height, width, _, _ = simplejpeg.decode_jpeg_header(data, strict=False)
            return height, width
        if kind == "png":
            width, height = struct.unpack(">II", data[16:24])
            return height, width
        if kind == "bmp":
            width, height = struct.unpack("<ii", data[18:26])
            return abs(height), abs(width)
        if kind == "gif":
            width, height = struct.unpack("<HH", data[6:10])
            return height, width
        with Image.open(io.BytesIO(data)) as image:
            return image.size[1], image.size[0]
    except Exception:
        return None


def check_size(data: memoryview, op: str) -> None:
    size = image_size(data)
    if size is not None and size[0] * size[1] > MOST_PIXELS:
        raise DataError(
            f"{op}: the image claims {size[0]} x {size[1]} pixels; at most {MOST_PIXELS} are decoded "
            "(a file that small with an image that large is an attack or damaged)."
        )


def decode(value: Any, op: str = "Decode") -> Array:
    """RGB pixels <H,W,C> of an encoded image. Grey and CMYK become RGB, alpha is dropped, EXIF is ignored."""
    data = as_bytes(value, op)
    if len(data) == 0:
        raise DataError(f"{op}: the encoded image is empty (0 bytes).")
    if is_jpeg(data):
        return decode_jpeg(data, op)
    kind = kind_of(data)
    if kind in ("gif", "webp"):
        raise DataError(
            f"{op}: Unsupported image type [{kind}]: use Decode(to_pil=True), or convert it to JPEG, PNG, BMP or TIFF."
        )
    check_size(data, op)
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION)
    if pixels is None:
        what = f"as {kind.upper()}" if kind else "as an image of any known format"
        raise DataError(
            f"{op}: image decode failed: {len(data)} bytes that begin with {bytes(data[:8])!r} do not decode {what}."
        )
    return pixels


def decode_jpeg(data: memoryview, op: str = "Decode") -> Array:
    """RGB pixels of a JPEG."""
    try:
        height, width, space, _ = simplejpeg.decode_jpeg_header(data)
        if height * width > MOST_PIXELS:
            check_size(data, op)
        if space in ("CMYK", "YCCK"):
            return _from_cmyk(simplejpeg.decode_jpeg(data, "CMYK"))
        return simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False)
    except ValueError as error:
        raise DataError(
            f"{op}: Error raised by libjpeg: {error} ({len(data)} bytes; the file is damaged or cut short)."
        ) from error


def _from_cmyk(ink: Array) -> Array:
    """RGB from the inverted CMYK that JPEG files hold."""
    black = ink[:, :, 3:].astype(np.int32)
    return (ink[:, :, :3].astype(np.int32) * black // 255).astype(np.uint8)


def decode_to_pil(value: Any) -> Any:
    """An RGB Pillow image of an encoded image, through Pillow."""
    if is_pil(value):
        return value
    data = as_bytes(value)
    try:
        return Image.open(io.BytesIO(data)).convert("RGB")
    except Image.DecompressionBombError as error:
        raise DataError(f"Decode: {error}") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ArgumentValueError(f"{error}\n: Failed to decode given image.") from error

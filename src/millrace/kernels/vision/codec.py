"""Encoded images <-> pixels. JPEG through libjpeg-turbo, the rest through OpenCV; nothing huge is decoded."""

from __future__ import annotations

import io
import re
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
    except Image.DecompressionBombError:
        return 2**31, 2**31
    except Exception:
        return None


def check_size(op: str, size: tuple[int, int] | None) -> None:
    """Refuse an image that claims to be huge."""
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
    check_size(op, image_size(data))
    pixels = _by_opencv(data)
    if pixels is None:
        what = f"as {kind.upper()}" if kind else "as an image of any known format"
        raise DataError(
            f"{op}: image decode failed: {len(data)} bytes that begin with {bytes(data[:8])!r} do not decode {what}."
        )
    return pixels


def decode_jpeg(data: memoryview, op: str = "Decode") -> Array:
    """RGB pixels of a JPEG. Slips that leave the picture whole are forgiven, a file cut short is not."""
    try:
        return _jpeg_pixels(data, op)
    except ValueError as error:
        slip = str(error)
    if _CUT_SHORT in slip and bytes(data[-2:]) != _END:
        # when only the end marker is missing, nothing is amiss once it is there
        try:
            return _jpeg_pixels(memoryview(bytes(data).removesuffix(_END[:1]) + _END), op)
        except ValueError:
            pass
    elif _FORGIVEN.match(slip):
        check_size(op, image_size(data))
        pixels = _by_opencv(data)
        if pixels is not None:
            return pixels
    raise DataError(
        f"{op}: Error raised by libjpeg: {slip} ({len(data)} bytes; the file is damaged or cut short)."
    )


_END = b"\xff\xd9"
_CUT_SHORT = "Premature end of JPEG file"
# Slips in the headers, which leave the picture whole: libjpeg warns and goes on, and so does OpenCV. Before the end
# marker (0xd9) the same words mean that the picture itself is damaged.
_FORGIVEN = re.compile(r"Warning: |Corrupt JPEG data: \d+ extraneous bytes before marker 0x(?!d9)")


def _by_opencv(data: memoryview) -> Array | None:
    how = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        made: Array | None = cv2.imdecode(np.frombuffer(data, np.uint8), how)
    except cv2.error:
        return None
    return made


def _jpeg_pixels(data: memoryview, op: str) -> Array:
    height, width, space, _ = simplejpeg.decode_jpeg_header(data)
    check_size(op, (height, width))
    if space in ("CMYK", "YCCK"):
        return _from_cmyk(simplejpeg.decode_jpeg(data, "CMYK"))
    made: Array = simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False)
    return made


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

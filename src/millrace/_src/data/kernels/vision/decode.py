"""Decode images. JPEG with libjpeg-turbo, other formats with OpenCV; huge images are refused."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError
from millrace._src.core.row_warnings import warn_row

from . import jpeg_region as jpeg
from . import png_region as png
from .image_header import check_bytes, check_size, image_format, image_size, is_grey_png
from .jpeg_region import Box
from .lazy_imports import Image, cv2, simplejpeg
from .validation import Array, describe, is_pil

__all__ = ["as_bytes", "decode", "decode_region", "decode_to_pil", "decode_gray_region", "is_jpeg"]

RegionSelector = Callable[[int, int], Box | None]
ScaleFactor = Callable[[int, int], int]


def is_jpeg(data: Any) -> bool:
    return bytes(data[:3]) == b"\xff\xd8\xff"


def as_bytes(value: Any, op: str = "Decode") -> memoryview:
    """The encoded bytes: of bytes, of a 1-D array of uint8 or int8, or of an array with one bytes value."""
    data = _encoded_view(value, op)
    check_bytes(op, len(data))
    return data


def _encoded_view(value: Any, op: str) -> memoryview:
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
    plain: Any = np.ascontiguousarray(value)  # NumPy 2.4's stubs have no buffer protocol
    return memoryview(plain).cast("B")


def decode(value: Any, op: str = "Decode") -> Array:
    """Decode an image to RGB pixels <H,W,C>. Grey and CMYK become RGB, alpha is dropped, EXIF is ignored."""
    data = as_bytes(value, op)
    if len(data) == 0:
        raise DataError(f"{op}: the encoded image is empty (0 bytes).")
    if is_jpeg(data):
        return decode_jpeg(data, op)
    format_name = image_format(data)
    if format_name in ("gif", "webp"):
        raise DataError(
            f"{op}: Unsupported image type [{format_name}]: use Decode(to_pil=True), or convert it to JPEG, PNG, BMP "
            "or TIFF."
        )
    check_size(op, image_size(data))
    pixels = _decode_with_opencv(data)
    if pixels is None:
        what = f"as {format_name.upper()}" if format_name else "as an image of any known format"
        raise DataError(
            f"{op}: image decode failed: {len(data)} bytes that begin with {bytes(data[:8])!r} do not decode {what}."
        )
    return pixels


def decode_region(
    value: Any,
    select_region: RegionSelector,
    process: Callable[[Array], Any],
    op: str = "Decode",
    factor: ScaleFactor | None = None,
) -> Any:
    """Compute ``process(decode(value))`` for a function that reads only the region ``select_region(height, width)``.

    The rest of the image is undefined. With ``factor``, a JPEG may be decoded at 1 / factor(height, width) of its size;
    ``process`` must use the shape of its argument.
    """
    data = as_bytes(value, op)
    if is_jpeg(data):

        def checked(height: int, width: int) -> int:
            check_size(op, (height, width))
            return 1 if factor is None else factor(height, width)

        image = jpeg.decode_jpeg_region(data, checked, select_region)
        if image is not None:
            output = process(image)
            # the next image overwrites this one
            shared = isinstance(output, np.ndarray) and np.may_share_memory(output, image)
            return output.copy() if shared else output
    return process(decode(value, op))


def decode_gray_region(
    value: Any,
    select_region: RegionSelector,
    process: Callable[[Array], Array],
    as_rgb: bool,
    op: str = "Decode",
) -> Any:
    """Apply ``process`` to one channel <H,W,1> of a grey PNG; as <H,W> or, with ``as_rgb``, as three equal channels.

    ``process`` only moves pixels, and reads only the region ``select_region(height, width)``. None for other images,
    and where the region is unknown.
    """
    data = as_bytes(value, op)

    def checked(height: int, width: int) -> Box | None:
        check_size(op, (height, width))
        return select_region(height, width)

    image = png.decode_gray_png_region(data, checked)
    if image is None:
        return None
    output = process(image)
    if as_rgb:
        return cv2.cvtColor(output, cv2.COLOR_GRAY2RGB)
    # the next image overwrites this one
    return (output.copy() if np.may_share_memory(output, image) else output)[:, :, 0]


def decode_jpeg(data: memoryview, op: str = "Decode") -> Array:
    """RGB pixels of a JPEG. Errors in the headers are ignored; a truncated file is an error.

    An image that is damaged inside but has its end marker is decoded as far as possible, as in MindSpore, with a
    warning.
    """
    try:
        return _jpeg_pixels(data, op)
    except ValueError as error:
        message = str(error)
    if _CUT_SHORT in message and bytes(data[-2:]) != jpeg.END:
        # if only the end marker is missing, the file decodes once it is appended
        try:
            return _jpeg_pixels(memoryview(bytes(data).removesuffix(jpeg.END[:1]) + jpeg.END), op)
        except ValueError:
            pass
    elif _HARMLESS_WARNING.match(message):
        check_size(op, image_size(data))
        pixels = _decode_with_opencv(data)
        if pixels is not None:
            return pixels
    elif message.startswith(_CORRUPT) and _has_end(data):
        try:
            pixels = _jpeg_pixels(data, op, strict=False)
        except ValueError as error:
            message = str(error)
        else:
            warn_row(
                f"{op}: the JPEG is damaged ({message}): it was decoded as far as possible; the rest is grey or wrong"
            )
            return pixels
    raise DataError(
        f"{op}: Error raised by libjpeg: {message} ({len(data)} bytes; the file is damaged or cut short)."
    )


_CUT_SHORT, _CORRUPT = "Premature end of JPEG file", "Corrupt JPEG data"
_SCAN = b"\xff\xda"
# Errors in the headers that do not affect the pixels: libjpeg warns and continues, and so does OpenCV. Before the end
# marker (0xd9) the same message means that the pixels are damaged.
_HARMLESS_WARNING = re.compile(r"Warning: |Corrupt JPEG data: \d+ extraneous bytes before marker 0x(?!d9)")


def _decode_with_opencv(data: memoryview) -> Array | None:
    grey = is_grey_png(data)
    flags = cv2.IMREAD_GRAYSCALE if grey else cv2.IMREAD_COLOR_RGB
    try:
        pixels: Array | None = cv2.imdecode(
            np.frombuffer(data, np.uint8), flags | cv2.IMREAD_IGNORE_ORIENTATION
        )
        # libpng takes a third longer for three equal channels than for one
        return cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB) if grey and pixels is not None else pixels
    except cv2.error:
        return None


def _has_end(data: memoryview) -> bool:
    """Whether an end marker follows the start of the last scan; that of a thumbnail does not count."""
    plain = bytes(data)
    return plain.find(jpeg.END, plain.rfind(_SCAN)) > 0


def _jpeg_pixels(data: memoryview, op: str, strict: bool = True) -> Array:
    height, width, space, _ = simplejpeg.decode_jpeg_header(data)
    check_size(op, (height, width))
    if space in ("CMYK", "YCCK"):
        return _cmyk_to_rgb(simplejpeg.decode_jpeg(data, "CMYK", strict=strict))
    pixels: Array = simplejpeg.decode_jpeg(data, "RGB", fastdct=False, fastupsample=False, strict=strict)
    return pixels


def _cmyk_to_rgb(ink: Array) -> Array:
    """Convert the inverted CMYK that JPEG files hold to RGB."""
    black = ink[:, :, 3:].astype(np.int32)
    return (ink[:, :, :3].astype(np.int32) * black // 255).astype(np.uint8)


def decode_to_pil(value: Any) -> Any:
    """Decode an image to an RGB Pillow image, with Pillow."""
    if is_pil(value):
        return value
    data = as_bytes(value)
    try:
        with Image.open(io.BytesIO(data)) as image:
            check_size("Decode", (image.size[1], image.size[0]))
            return image.convert("RGB")
    except Image.DecompressionBombError as error:
        # raised by Pillow's own limit when the file is opened
        check_size("Decode", image_size(data))
        raise DataError(f"Decode: {error} (PIL.Image.MAX_IMAGE_PIXELS changes that.)") from error
    except (OSError, SyntaxError, ValueError) as error:
        raise ArgumentValueError(f"{error}\n: Failed to decode given image.") from error

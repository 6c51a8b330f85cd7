"""Read and write image files and byte files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentTypeError, DataError
from millrace._src.core.public import public
from millrace._src.core.values.tensor import Tensor

from .enums import ImageReadMode
from .image_header import check_bytes, check_size, image_format, image_size
from .lazy_imports import cv2
from .validation import Array, describe, is_pil

__all__ = [
    "encode_jpeg",
    "encode_png",
    "get_image_num_channels",
    "get_image_size",
    "read_file",
    "read_image",
    "write_file",
    "write_jpeg",
    "write_png",
]


def _as_host_array(value: Any, what: str, expected: str) -> Array:
    if isinstance(value, np.ndarray):
        return value
    host = getattr(value, "asnumpy", None)
    if host is None:
        raise ArgumentTypeError(f"{what} is not of type {expected}, but got: {type(value)}.")
    array: Array = host()
    return array


def _array_types() -> str:
    return f"{np.ndarray} or {Tensor}"


def _check_argument_type(value: Any, expected_type: type, what: str) -> None:
    if not isinstance(value, expected_type):
        raise ArgumentTypeError(f"Input {what} is not of type {expected_type}, but got: {type(value)}.")


def _check_pixels(op: str, image: Array) -> Array:
    if image.dtype != np.uint8:
        raise DataError(f"{op}: the type of the image data should be UINT8, but got {describe(image)}.")
    if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (1, 3)):
        raise DataError(f"{op}: the image should be <H,W>, <H,W,1> or <H,W,3>, but got {describe(image)}.")
    return np.ascontiguousarray(image)


@public("dataset.vision", "dataset.vision.utils")
def encode_jpeg(image: Any, quality: int = 75) -> Array:
    """Encode an image as JPEG: the bytes of the file as a 1-D array.

    >>> encode_jpeg(np.zeros((8, 8, 3), np.uint8))[:3].tolist()
    [255, 216, 255]
    """
    _check_argument_type(quality, int, "quality")
    pixels = _check_pixels("EncodeJpeg", _as_host_array(image, "Input image", _array_types()))
    if not 1 <= quality <= 100:
        raise DataError(f"EncodeJpeg: Invalid quality {quality}, should be in range of [1, 100].")
    if pixels.ndim == 3 and pixels.shape[2] == 3:
        pixels = pixels[:, :, ::-1]
    encoded: Array = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return encoded


@public("dataset.vision", "dataset.vision.utils")
def encode_png(image: Any, compression_level: int = 6) -> Array:
    """Encode an image as PNG: the bytes of the file as a 1-D array.

    The pixels in the file equal MindSpore's; the bytes differ, since another zlib compresses them.

    >>> encode_png(np.zeros((8, 8, 3), np.uint8))[1:4].tobytes()
    b'PNG'
    """
    _check_argument_type(compression_level, int, "compression_level")
    pixels = _check_pixels("EncodePng", _as_host_array(image, "Input image", _array_types()))
    if not 0 <= compression_level <= 9:
        raise DataError(
            f"EncodePng: Invalid compression_level {compression_level}, should be in range of [0, 9]."
        )
    if pixels.ndim == 3 and pixels.shape[2] == 3:
        pixels = pixels[:, :, ::-1]
    encoded: Array = cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, compression_level])[1]
    return encoded


@public("dataset.vision", "dataset.vision.utils")
def get_image_num_channels(image: Any) -> int:
    """Number of channels of an image.

    >>> get_image_num_channels(np.zeros((8, 8, 3), np.uint8))
    3
    """
    if isinstance(image, np.ndarray):
        if image.ndim < 2:
            raise DataError(
                f"GetImageNumChannels: an image has at least 2 dimensions, but got {describe(image)}."
            )
        return 1 if image.ndim == 2 else int(image.shape[-1])
    if is_pil(image):
        return len(image.getbands())
    raise _no_image(image)


@public("dataset.vision", "dataset.vision.utils")
def get_image_size(image: Any) -> list[int]:
    """Size [height, width] of an image.

    >>> get_image_size(np.zeros((6, 8, 3), np.uint8))
    [6, 8]
    """
    if isinstance(image, np.ndarray):
        if image.ndim < 2:
            raise DataError(f"GetImageSize: an image has at least 2 dimensions, but got {describe(image)}.")
        return list(image.shape if image.ndim == 2 else image.shape[-3:-1])
    if is_pil(image):
        return [image.size[1], image.size[0]]
    raise _no_image(image)


def _no_image(value: Any) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"Input image is not of type {np.ndarray} or <class 'PIL.Image.Image'>, but got: {type(value)}."
    )


@public("dataset.vision", "dataset.vision.utils")
def read_file(filename: str) -> Array:
    """Read the bytes of a file as a 1-D array.

    >>> write_file("a.bin", np.array([1, 2], np.uint8))
    >>> read_file("a.bin").tolist()
    [1, 2]
    """
    _check_argument_type(filename, str, "filename")
    return np.frombuffer(_bytes_of(filename, "ReadFile"), np.uint8).copy()


def _bytes_of(filename: str, op: str, image: bool = False) -> bytes:
    path = Path(filename)
    if not path.is_file():
        raise DataError(f"{op}: Invalid file path, {filename!r} is not a regular file.")
    try:
        if image:
            check_bytes(op, path.stat().st_size, f"the file {filename!r}")
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{op}: {filename!r} could not be read: {error}") from error


@public("dataset.vision", "dataset.vision.utils")
def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> Array:
    """Read an image file as pixels <H,W,C>: unchanged (alpha is dropped), grey, or RGB.

    The pixels equal MindSpore's bit for bit, except for animated PNG files read as grey, which differ by 1. A truncated
    JPEG is an error, where MindSpore gives the part above the cut.

    >>> write_png("a.png", np.zeros((6, 8, 3), np.uint8))
    >>> read_image("a.png").shape, read_image("a.png", ImageReadMode.GRAYSCALE).shape
    ((6, 8, 3), (6, 8, 1))
    """
    _check_argument_type(filename, str, "filename")
    if not isinstance(mode, ImageReadMode):
        raise ArgumentTypeError(f"Input mode is not of type {ImageReadMode}, but got: {type(mode)}.")
    data = memoryview(_bytes_of(filename, "ReadImage", image=True))
    if image_format(data) in ("", "gif", "webp"):
        raise DataError(
            f"ReadImage: failed to read file {filename!r}: it is not a JPEG, PNG, BMP or TIFF image."
        )
    check_size("ReadImage", image_size(data))
    flags = (cv2.IMREAD_UNCHANGED, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_COLOR)[mode]
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), flags)
    if pixels is None:
        raise DataError(f"ReadImage: failed to read file {filename!r}: it does not decode.")
    if pixels.ndim == 2:
        return pixels[:, :, None]
    code = cv2.COLOR_BGRA2RGB if pixels.shape[2] == 4 else cv2.COLOR_BGR2RGB
    image: Array = cv2.cvtColor(pixels, code)
    return image


@public("dataset.vision", "dataset.vision.utils")
def write_file(filename: str, data: Any) -> None:
    """Write a 1-D array of uint8 to a file.

    >>> write_file("a.bin", np.array([1, 2], np.uint8))
    """
    _check_argument_type(filename, str, "filename")
    values = _as_host_array(data, "Input data", _array_types())
    if values.dtype != np.uint8 or values.ndim != 1:
        raise DataError(f"WriteFile: the data should be a 1-D array of UINT8, but got {describe(values)}.")
    try:
        Path(filename).write_bytes(values.tobytes())
    except OSError as error:
        raise DataError(f"WriteFile: {filename!r} could not be written: {error}") from error


@public("dataset.vision", "dataset.vision.utils")
def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Write an image to a JPEG file.

    >>> write_jpeg("a.jpg", np.zeros((8, 8, 3), np.uint8))
    """
    _check_argument_type(filename, str, "filename")
    _check_argument_type(quality, int, "quality")
    write_file(filename, encode_jpeg(_as_host_array(image, "Input image", _array_types()), quality))


@public("dataset.vision", "dataset.vision.utils")
def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Write an image to a PNG file.

    >>> write_png("a.png", np.zeros((8, 8, 3), np.uint8))
    """
    _check_argument_type(filename, str, "filename")
    _check_argument_type(compression_level, int, "compression_level")
    write_file(
        filename, encode_png(_as_host_array(image, "The input image", _array_types()), compression_level)
    )

"""Crop, flip, pad and slice images."""

from __future__ import annotations

from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, DataError

from .enums import Border, Inter, SliceMode
from .lazy_imports import Image, ImageOps, cv2
from .resize import resize, resize_image
from .validation import (
    Array,
    as_array,
    check_image,
    check_pil_image,
    describe,
    is_pil,
    map_images,
    restore_channel_axis,
)

__all__ = [
    "center_crop",
    "crop",
    "crop_and_resize",
    "five_crop",
    "flip",
    "pad",
    "pad_to_size",
    "slice_patches",
]


def crop(x: Any, top: int, left: int, height: int, width: int, op: str = "Crop") -> Any:
    """Crop the part that begins at (top, left); a Pillow image may be exceeded (black), an array may not."""
    if is_pil(x):
        return x.crop((left, top, left + width, top + height))
    if x.ndim < 2:
        check_image(op, x)
    rows, columns = x.shape[-3:-1] if x.ndim > 2 else x.shape
    if top < 0 or top + height > rows:
        raise DataError(
            f"{op}: Crop height dimension: {top + height} exceeds image height: {rows} ({describe(x)})"
        )
    if left < 0 or left + width > columns:
        raise DataError(
            f"{op}: Crop width dimension: {left + width} exceeds image width: {columns} ({describe(x)})"
        )
    if x.ndim == 2:
        return x[top : top + height, left : left + width]
    return x[..., top : top + height, left : left + width, :]


def center_crop(x: Any, height: int, width: int) -> Any:
    """Crop the center of an image; a smaller image is padded with zeros."""
    if is_pil(x):
        columns, rows = x.size
        top, left = round((rows - height) / 2.0), round((columns - width) / 2.0)
        return crop(x, top, left, height, width)
    return map_images(lambda image: _center_crop_array(image, height, width), x, "CenterCrop")


def _center_crop_array(x: Array, height: int, width: int) -> Array:
    check_image("CenterCrop", x)
    rows, columns = x.shape[:2]
    if height > rows * 3 or width > columns * 3:
        raise DataError(
            "CenterCrop: Padding size cannot be more than 3 times of the original image size, got output size "
            f"({height}, {width}) for {describe(x)}."
        )
    tall, broad = max(0, height - rows), max(0, width - columns)
    if tall or broad:
        sides = (broad - broad // 2, tall - tall // 2, broad // 2, tall // 2)
        x = pad(x, sides, (0, 0, 0), Border.CONSTANT)
        rows, columns = x.shape[:2]
    return crop(x, (rows - height) // 2, (columns - width) // 2, height, width, "CenterCrop")


def crop_and_resize(
    x: Any, box: tuple[int, int, int, int], size: tuple[int, int], inter: Inter, op: str
) -> Any:
    """Crop the box (top, left, height, width) and resize it."""
    if is_pil(x):
        return resize(crop(x, *box), size, inter)
    if inter == Inter.ANTIALIAS:
        check_pil_image(op, x)
    return map_images(lambda image: resize_image(crop(image, *box, op), size, inter, op), x, op)


def flip(x: Any, *, across: bool, op: str) -> Any:
    """Flip an image horizontally (across) or vertically."""
    if is_pil(x):
        transpose = Image.Transpose
        return x.transpose(transpose.FLIP_LEFT_RIGHT if across else transpose.FLIP_TOP_BOTTOM)
    if x.ndim < 2:
        map_images(np.copy, x, op)
    if x.dtype.kind not in "biuf":
        check_image(op, x)
    if x.dtype == np.uint8 and x.ndim == 3 and x.shape[2] in (1, 3, 4):
        return restore_channel_axis(cv2.flip(x, 1 if across else 0), x)
    if x.ndim == 2:
        return x[:, ::-1] if across else x[::-1]
    return x[..., ::-1, :] if across else x[..., ::-1, :, :]


_BORDERS = {
    Border.CONSTANT: "BORDER_CONSTANT",
    Border.EDGE: "BORDER_REPLICATE",
    Border.REFLECT: "BORDER_REFLECT_101",
    Border.SYMMETRIC: "BORDER_REFLECT",
}


def pad(
    x: Any,
    padding: tuple[int, int, int, int],
    fill: tuple[int, ...],
    border: Border,
    op: str = "Pad",
    copy: bool = True,
) -> Any:
    """Pad an image on the (left, top, right, bottom). Without ``copy``, an unchanged image is not copied."""
    if is_pil(x):
        return _pad_pil(x, padding, fill, border)
    check_image(op, x, channels=(1, 3))
    if x.dtype == np.uint8 and not any(padding):
        return x.copy() if copy else x
    left, top, right, bottom = padding
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    value = fill if x.ndim == 3 and x.shape[2] == 3 else fill[:1]
    if (flat.dtype.itemsize == 8 and flat.dtype.kind in "iu") or flat.dtype == np.uint32:
        raise DataError(f"{op}: the data type of image tensor does not match, but got {describe(x)}.")
    try:
        padded = cv2.copyMakeBorder(
            flat, top, bottom, left, right, getattr(cv2, _BORDERS[border]), value=value
        )
    except cv2.error as error:
        raise DataError(f"{op}: OpenCV cannot pad {describe(x)}: {error.err}") from error
    return restore_channel_axis(padded, x)


def _pad_pil(image: Any, padding: tuple[int, int, int, int], fill: tuple[int, ...], border: Border) -> Any:
    left, top, right, bottom = padding
    if border == Border.CONSTANT:
        value = fill[:1] if image.mode in ("L", "1") else fill
        padded = ImageOps.expand(image, border=padding, fill=value)
    else:
        pixels = np.asarray(image)
        sides = ((top, bottom), (left, right), (0, 0))[: pixels.ndim]
        padded = Image.fromarray(np.pad(pixels, sides, border.value))
    if image.mode == "P":
        padded.putpalette(image.getpalette())
    return padded


def pad_to_size(
    x: Any, size: tuple[int, int], offset: tuple[int, int] | None, fill: tuple[int, ...], border: Border
) -> Any:
    """Pad an image to the given (height, width); it lies at the offset, or in the center without one."""
    x = as_array(x)
    check_image("PadToSize", x, channels=(1, 3))
    rows, columns = x.shape[:2]
    if rows > size[0] or columns > size[1]:
        raise DataError(
            "PadToSize: the target size to pad should be no less than the original image size, but got target size "
            f"{tuple(size)} and original size {(rows, columns)}."
        )
    top, left = offset if offset is not None else ((size[0] - rows) // 2, (size[1] - columns) // 2)
    if top + rows > size[0] or left + columns > size[1]:
        raise DataError(
            f"PadToSize: the sum of offset {(top, left)} and original size {(rows, columns)} should be no more than "
            f"the target size {tuple(size)}."
        )
    sides = (left, top, size[1] - columns - left, size[0] - rows - top)
    return pad(x, sides, fill, border, "PadToSize")


def five_crop(image: Any, height: int, width: int, op: str) -> tuple[Any, ...]:
    """The four corners and the center of a Pillow image."""
    check_pil_image(op, image)
    columns, rows = image.size
    if height > rows or width > columns:
        raise ArgumentValueError(
            f"Crop size {(height, width)} is larger than input image size {(rows, columns)}."
        )
    corners = [(0, 0), (0, columns - width), (rows - height, 0), (rows - height, columns - width)]
    return (
        *[crop(image, top, left, height, width) for top, left in corners],
        center_crop(image, height, width),
    )


def slice_patches(x: Any, rows: int, columns: int, mode: SliceMode, fill: int) -> tuple[Array, ...]:
    """Split an image into rows x columns equal patches; a remainder is dropped, or padded to full patches."""
    x = as_array(x)
    if rows == columns == 1:
        return (x,)
    check_image("SlicePatches", x)
    height, width = x.shape[:2]
    if height < rows or width < columns:
        raise DataError(f"SlicePatches: {rows} x {columns} patches need more pixels than {describe(x)}.")
    tall, broad = height // rows, width // columns
    if mode == SliceMode.PAD:
        tall, broad = -(-height // rows), -(-width // columns)
        padding = (0, 0, broad * columns - width, tall * rows - height)
        if any(padding):
            padded = np.full((tall * rows, broad * columns, *x.shape[2:]), fill, x.dtype)
            padded[:height, :width] = x
            x = padded
    return tuple(
        [
            crop(x, i * tall, j * broad, tall, broad, "SlicePatches")
            for i in range(rows)
            for j in range(columns)
        ]
    )

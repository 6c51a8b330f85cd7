"""Rotation, affine and perspective transforms of images."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace._src.core.errors import ArgumentValueError, DataError

from .enums import Inter
from .fixed_order_linalg import perspective_coefficients
from .lazy_imports import Image, cv2
from .resize import cv_inter, pil_inter
from .validation import Array, as_array, check_image, check_pil_image, describe, is_pil, restore_channel_axis

__all__ = ["affine", "affine_pil", "perspective", "rotate"]

Fill = tuple[int, ...]


def _warp(call: Any, x: Array, op: str) -> Array:
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    try:
        return restore_channel_axis(call(flat), x)
    except cv2.error as error:
        raise DataError(f"{op}: OpenCV does not accept {describe(x)}: {error.err}") from error


# Source position of each output pixel in 1/32 of a pixel: the arithmetic of OpenCV 4, so that results equal
# MindSpore's to the last bit. OpenCV 5 interpolates at exact positions, and differs by up to 6 levels.
_BITS, _SCALE = 5, 1 << 10


def _round(values: Array) -> Array:
    return np.clip(np.rint(values), -(2**31), 2**31 - 1).astype(np.int64)


def _maps(x: Array, y: Array, nearest: bool) -> tuple[Array, Array | None]:
    """Maps of OpenCV's remap() from positions in pixels (nearest) or in 1/32 of a pixel."""
    bits = 0 if nearest else _BITS
    whole = np.stack([x >> bits, y >> bits], axis=-1)
    whole = np.clip(whole, -(2**15), 2**15 - 1).astype(np.int16)
    if nearest:
        return whole, None
    return whole, ((y & 31) * 32 + (x & 31)).astype(np.uint16)


def _affine_maps(m: Array, width: int, height: int, nearest: bool) -> tuple[Array, Array | None]:
    """Maps of a 2 x 3 matrix from output to input."""
    half, shift = (_SCALE // 2, 10) if nearest else (_SCALE >> (_BITS + 1), 10 - _BITS)
    columns, rows = np.arange(width), np.arange(height)
    x = _round((m[0, 1] * rows + m[0, 2]) * _SCALE)[:, None] + half + _round(m[0, 0] * columns * _SCALE)
    y = _round((m[1, 1] * rows + m[1, 2]) * _SCALE)[:, None] + half + _round(m[1, 0] * columns * _SCALE)
    return _maps(x >> shift, y >> shift, nearest)


def _inverse(m: Array) -> Array:
    """Inverse of a 2 x 3 matrix, in OpenCV's order of operations."""
    det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    det = 1.0 / det if det != 0 else 0.0
    a, b, c, d = m[1, 1] * det, m[0, 1] * -det, m[1, 0] * -det, m[0, 0] * det
    return np.array([[a, b, -a * m[0, 2] - b * m[1, 2]], [c, d, -c * m[0, 2] - d * m[1, 2]]])


def _perspective_maps(m: Array, width: int, height: int, nearest: bool) -> tuple[Array, Array | None]:
    """Maps of a 3 x 3 matrix from output to input."""
    columns, rows = np.arange(width)[None, :], np.arange(height)[:, None]
    x, y, w = (m[i, 0] * columns + (m[i, 1] * rows + m[i, 2]) for i in range(3))
    unit = 1.0 if nearest else float(1 << _BITS)
    w = np.divide(unit, w, out=np.zeros_like(w), where=w != 0)
    return _maps(_round(x * w), _round(y * w), nearest)


def _remap(x: Array, maps: tuple[Array, Array | None], interpolation: int, fill: Fill, op: str) -> Array:
    first, second = maps
    if (
        x.dtype == np.float64 and interpolation == cv2.INTER_CUBIC
    ):  # OpenCV 5 computes float64 incorrectly here
        return _remap(x.astype(np.float32), maps, interpolation, fill, op).astype(np.float64)
    return _warp(lambda flat: cv2.remap(flat, first, second, interpolation, borderValue=fill), x, op)


def _to_float32(value: float) -> float:
    return float(np.float32(value))


def _cv_interpolation(inter: Inter) -> int:
    if inter in (Inter.ANTIALIAS, Inter.PILCUBIC):
        raise DataError(
            f"Unsupported interpolation for an array: {inter!r}; use NEAREST, LINEAR, CUBIC or AREA."
        )
    return cv2.INTER_LINEAR if inter == Inter.AREA else cv_inter(inter)


def rotate(
    x: Any, degrees: float, inter: Inter, expand: bool, center: Any, fill: Fill, op: str = "Rotate"
) -> Any:
    """Rotate an image counter-clockwise about the center; `expand` enlarges the result to hold the corners."""
    if is_pil(x):
        return _rotate_pil(x, degrees, inter, expand, center, fill)
    if x.ndim > 3:
        return np.stack([rotate(image, degrees, inter, expand, center, fill, op) for image in x])
    check_image(op, x)
    height, width = x.shape[:2]
    middle = tuple(center) if center else ((width - 1) / 2.0, (height - 1) / 2.0)
    matrix = cv2.getRotationMatrix2D(middle, degrees, 1.0)
    size = (width, height)
    if expand:
        new_width, new_height = _rotated_size(width, height, degrees)
        size = (round(float(new_width)), round(float(new_height)))
        matrix[0, 2] += float(new_width) / 2.0 - width / 2.0
        matrix[1, 2] += float(new_height) / 2.0 - height / 2.0
    interpolation = _cv_interpolation(inter)
    maps = _affine_maps(_inverse(matrix), *size, interpolation == cv2.INTER_NEAREST)
    return _remap(x, maps, interpolation, fill[::-1], op)  # MindSpore takes the fill as blue, green, red


def _rotated_size(width: int, height: int, degrees: float) -> tuple[np.float32, np.float32]:
    """Size of the bounding rectangle of a rotated rectangle, in float32."""
    angle = float(np.float32(degrees)) * math.pi / 180.0
    b, a = np.float32(math.cos(angle)) * np.float32(0.5), np.float32(math.sin(angle)) * np.float32(0.5)
    x = [-a * height - b * width, a * height - b * width]
    y = [b * height - a * width, -b * height - a * width]
    x, y = [*x, -x[0], -x[1]], [*y, -y[0], -y[1]]
    return max(x) - min(x), max(y) - min(y)


def _rotate_pil(image: Any, degrees: float, inter: Inter, expand: bool, center: Any, fill: Fill) -> Any:
    degrees = degrees % 360.0
    if inter == Inter.ANTIALIAS and (degrees not in (0, 90, 180, 270) or center):
        raise ArgumentValueError(
            "When using Inter.ANTIALIAS, center needs to be None and angle needs to be an integer multiple of 90."
        )
    return image.rotate(degrees, pil_inter(inter), expand, center, fillcolor=fill)


def affine(
    x: Any,
    degrees: float,
    translate: tuple[float, float],
    scale: float,
    shear: tuple[float, float],
    inter: Inter,
    fill: Fill,
    op: str = "Affine",
) -> Array:
    """Rotate, translate (by a share of the size), scale and shear an image about its center."""
    x = as_array(x)
    check_image(op, x)
    height, width = x.shape[:2]
    shift_x, shift_y = _to_float32(translate[0]) * width, _to_float32(translate[1]) * height
    angle, shear_x, shear_y = (
        _to_float32(_to_float32(v) * math.pi / 180.0) for v in (degrees, shear[0], shear[1])
    )
    a = math.cos(angle - shear_y) / math.cos(shear_y)
    b = -math.cos(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(angle)
    c = math.sin(angle - shear_y) / math.cos(shear_y)
    d = -math.sin(angle - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(angle)
    matrix = np.array([[d, -b, 0.0], [-c, a, 0.0]]) / _to_float32(scale)
    middle = ((width - 1) / 2.0, (height - 1) / 2.0)
    right, low = -middle[0] - shift_x, -middle[1] - shift_y
    matrix[:, 2] = matrix[:, 0] * right + matrix[:, 1] * low + np.array(middle)
    interpolation = _cv_interpolation(inter)
    return _remap(
        x, _affine_maps(matrix, width, height, interpolation == cv2.INTER_NEAREST), interpolation, fill, op
    )


def affine_pil(
    image: Any,
    degrees: float,
    translate: tuple[float, float],
    scale: float,
    shear: tuple[float, float],
    inter: Inter,
    fill: Fill,
) -> Any:
    """Affine transform of a Pillow image, translated by pixels."""
    middle = (image.size[0] * 0.5 + 0.5, image.size[1] * 0.5 + 0.5)
    angle = math.radians(degrees)
    angle_x, angle_y = angle + math.radians(shear[0]), angle + math.radians(shear[1])
    size = (math.cos(angle_x) * math.cos(angle_y) + math.sin(angle_x) * math.sin(angle_y)) * scale
    a, b, c, d = (
        math.cos(angle_x) / size,
        math.sin(angle_x) / size,
        -math.sin(angle_y) / size,
        math.cos(angle_y) / size,
    )
    x, y = -middle[0] - translate[0], -middle[1] - translate[1]
    matrix = (a, b, a * x + b * y + middle[0], c, d, c * x + d * y + middle[1])
    return image.transform(image.size, Image.Transform.AFFINE, matrix, pil_inter(inter), fillcolor=fill)


def perspective(x: Any, start: Any, end: Any, inter: Inter, op: str = "Perspective") -> Any:
    """Perspective transform that maps four start points to four end points."""
    if is_pil(x):
        return _perspective_pil(x, start, end, inter)
    if inter == Inter.ANTIALIAS:
        check_pil_image(op, x)
    check_image(op, x)
    inter = Inter.LINEAR if inter == Inter.PILCUBIC else inter
    matrix = _perspective_matrix(np.array(start, np.float32), np.array(end, np.float32))
    interpolation = _cv_interpolation(inter)
    matrix = cv2.invert(matrix)[1]
    maps = _perspective_maps(matrix, x.shape[1], x.shape[0], interpolation == cv2.INTER_NEAREST)
    return _remap(x, maps, interpolation, (0,), op)


def _perspective_matrix(start: Array, end: Array) -> Array:
    """OpenCV's 3 x 3 matrix, solved in a fixed order of operations."""
    solution = perspective_coefficients(start.tolist(), end.tolist(), single=True)
    if solution is None:  # three points on a line: OpenCV's least squares
        return cv2.getPerspectiveTransform(start, end)
    return np.array([*solution, 1.0]).reshape(3, 3)


def _perspective_pil(image: Any, start: Any, end: Any, inter: Inter) -> Any:
    interpolation = pil_inter(inter)
    solution = perspective_coefficients(end, start)
    if solution is None:  # three points on a line
        solution = _least_squares(end, start)
    return image.transform(image.size, Image.Transform.PERSPECTIVE, solution, interpolation)


def _least_squares(start: Any, end: Any) -> list[float]:
    """Minimum-norm least-squares solution, where no perspective transform exists."""
    rows = []
    for (x, y), (to_x, to_y) in zip(start, end, strict=True):
        rows.append([x, y, 1, 0, 0, 0, -to_x * x, -to_x * y])
        rows.append([0, 0, 0, x, y, 1, -to_y * x, -to_y * y])
    goal = np.array(end, np.float64).reshape(8)
    solution: list[float] = np.linalg.lstsq(np.array(rows, np.float64), goal, rcond=None)[0].tolist()
    return solution

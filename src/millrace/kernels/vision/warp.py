"""Turned, moved, sheared and seen from the side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from millrace.core.errors import ArgumentValueError, DataError

from .enums import Inter
from .image import Array, as_array, describe, is_pil, like_channels, need, need_pil
from .libraries import Image, cv2
from .resize import cv_inter, pil_inter

__all__ = ["affine", "affine_pil", "perspective", "rotate"]

Fill = tuple[int, ...]


def _warp(call: Any, x: Array, op: str) -> Array:
    flat = x.view(np.uint8) if x.dtype == np.bool_ else x
    try:
        return like_channels(call(flat), x)
    except cv2.error as error:
        raise DataError(f"{op}: OpenCV does not take {describe(x)}: {error.err}") from error


def _as_cv(inter: Inter) -> int:
    if inter in (Inter.ANTIALIAS, Inter.PILCUBIC):
        raise DataError(f"Unsupported interpolation for an array: {inter!r}; use NEAREST, LINEAR, CUBIC or AREA.")
    return cv_inter(inter)


def rotate(
    x: Any, degrees: float, inter: Inter, expand: bool, center: Any, fill: Fill, op: str = "Rotate"
) -> Any:
    """Turned counter-clockwise about the center; `expand` makes room for the corners."""
    if is_pil(x):
        return _rotate_pil(x, degrees, inter, expand, center, fill)
    if x.ndim > 3:
        return np.stack([rotate(image, degrees, inter, expand, center, fill, op) for image in x])
    need(op, x)
    height, width = x.shape[:2]
    # float32 here and below: the matrix is MindSpore's to the last bit
    middle = tuple(center) if center else ((width - 1) / 2.0, (height - 1) / 2.0)
    matrix = cv2.getRotationMatrix2D(middle, degrees, 1.0)
    size = (width, height)
    if expand:
        turned = math.radians(degrees)
        cos, sin = abs(math.cos(turned)), abs(math.sin(turned))
        size = (round(height * sin + width * cos), round(height * cos + width * sin))
        matrix[0, 2] += size[0] / 2.0 - width / 2.0
        matrix[1, 2] += size[1] / 2.0 - height / 2.0
    how = _as_cv(inter)
    return _warp(lambda flat: cv2.warpAffine(flat, matrix, size, flags=how, borderValue=fill), x, op)


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
    """Turned, moved by a part of its size, scaled and sheared about its middle."""
    x = as_array(x)
    need(op, x)
    height, width = x.shape[:2]
    across, down = translate[0] * width, translate[1] * height
    turned = math.radians(degrees)
    shear_x, shear_y = math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(turned - shear_y) / math.cos(shear_y)
    b = -math.cos(turned - shear_y) * math.tan(shear_x) / math.cos(shear_y) - math.sin(turned)
    c = math.sin(turned - shear_y) / math.cos(shear_y)
    d = -math.sin(turned - shear_y) * math.tan(shear_x) / math.cos(shear_y) + math.cos(turned)
    matrix = np.array([[d, -b, 0.0], [-c, a, 0.0]]) / scale
    middle = ((width - 1) / 2.0, (height - 1) / 2.0)
    matrix[:, 2] = matrix[:, :2] @ np.array([-middle[0] - across, -middle[1] - down]) + np.array(middle)
    how = _as_cv(inter) | cv2.WARP_INVERSE_MAP
    return _warp(
        lambda flat: cv2.warpAffine(flat, matrix, (width, height), flags=how, borderValue=fill), x, op
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
    """The same for a Pillow image, moved by pixels."""
    middle = (image.size[0] * 0.5 + 0.5, image.size[1] * 0.5 + 0.5)
    turned = math.radians(degrees)
    one, two = turned + math.radians(shear[0]), turned + math.radians(shear[1])
    size = (math.cos(one) * math.cos(two) + math.sin(one) * math.sin(two)) * scale
    a, b, c, d = math.cos(one) / size, math.sin(one) / size, -math.sin(two) / size, math.cos(two) / size
    x, y = -middle[0] - translate[0], -middle[1] - translate[1]
    matrix = (a, b, a * x + b * y + middle[0], c, d, c * x + d * y + middle[1])
    return image.transform(image.size, Image.Transform.AFFINE, matrix, pil_inter(inter), fillcolor=fill)


def perspective(x: Any, start: Any, end: Any, inter: Inter, op: str = "Perspective") -> Any:
    """What lies at the four start points moved to the four end points."""
    if is_pil(x):
        return _perspective_pil(x, start, end, inter)
    if inter == Inter.ANTIALIAS:
        need_pil(op, x)
    need(op, x)
    matrix = cv2.getPerspectiveTransform(np.array(start, np.float32), np.array(end, np.float32))
    how = _as_cv(inter)
    size = (x.shape[1], x.shape[0])
    return _warp(lambda flat: cv2.warpPerspective(flat, matrix, size, flags=how), x, op)


def _perspective_pil(image: Any, start: Any, end: Any, inter: Inter) -> Any:
    how = pil_inter(inter)
    rows = []
    for (to_x, to_y), (x, y) in zip(end, start):
        rows.append([to_x, to_y, 1, 0, 0, 0, -x * to_x, -x * to_y])
        rows.append([0, 0, 0, to_x, to_y, 1, -y * to_x, -y * to_y])
    given = np.array(start, dtype=np.float64).reshape(8)
    solved = np.linalg.lstsq(np.array(rows, dtype=np.float64), given, rcond=None)[0]
    return image.transform(image.size, Image.Transform.PERSPECTIVE, solved.tolist(), how)

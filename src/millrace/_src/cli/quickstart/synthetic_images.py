"""A small labelled image set: shapes on a textured background, the same in each run."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from millrace._src.core.random.rng import RandomStream

__all__ = ["CLASSES", "render_image", "write_image"]

CLASSES = ("bar", "circle", "cross", "diamond", "ring", "square", "star", "triangle")
WIDTH, HEIGHT = 500, 375
SEED = 20_261_115


def write_image(folder: Path, number: int) -> Path:
    """Render one image and write it as ``folder/class/number.jpg``."""
    shape = CLASSES[number % len(CLASSES)]
    path = folder / shape / f"{number:05}.jpg"
    path.parent.mkdir(parents=True, exist_ok=True)
    render_image(number).save(path, quality=88)
    return path


def render_image(number: int) -> Image.Image:
    """Render the image with this number. Its class is the number modulo the number of classes."""
    stream = RandomStream.for_rows(np.array([number], np.uint64), seed=SEED, epoch=0, op=1)

    def pick(slot: int, low: float, high: float) -> float:
        return float(stream.uniform(slot, low, high)[0])

    image = Image.fromarray(_background(number % 8, pick(0, 0, 1), pick(1, 0, 1)))
    size = pick(2, 50, 110)
    centre = pick(3, size, WIDTH - size), pick(4, size, HEIGHT - size)
    colour = tuple(int(pick(slot, 60, 256)) for slot in (5, 6, 7))
    _SHAPES[CLASSES[number % len(CLASSES)]](ImageDraw.Draw(image), centre, size, pick(8, 0, math.tau), colour)
    return image


@functools.cache
def _wave_pattern(class_index: int) -> npt.NDArray[np.float32]:
    """A pattern with fine detail, so that decoding costs as much as for photographs."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    coarse = np.sin(x / (21 + 3 * class_index)) + np.cos(y / (17 + 2 * class_index))
    return coarse + 0.5 * np.sin((x * y) / (90 + 11 * class_index)) + 0.3 * np.sin(x * 1.9 + y * 2.3)


def _background(class_index: int, warm: float, light: float) -> npt.NDArray[np.uint8]:
    tint = np.array([40 + 50 * warm, 45, 90 - 50 * warm], np.float32)
    return np.clip(tint + (22 + 12 * light) * (_wave_pattern(class_index)[..., None] + 1.2), 0, 255).astype(
        np.uint8
    )


Point = tuple[float, float]


def _polygon(centre: Point, radii: list[float], turn: float) -> list[Point]:
    """Corners of a polygon at equal angles, at these distances."""
    step = math.tau / len(radii)
    x, y = centre
    return [
        (x + r * math.cos(turn + i * step), y + r * math.sin(turn + i * step)) for i, r in enumerate(radii)
    ]


def _bounding_box(centre: Point, size: float) -> list[float]:
    return [centre[0] - size, centre[1] - size, centre[0] + size, centre[1] + size]


def _corners(radii: Callable[[float], list[float]]) -> Callable[..., None]:
    def shape(pen: Any, centre: Point, size: float, turn: float, colour: Any) -> None:
        pen.polygon(_polygon(centre, radii(size), turn), fill=colour)

    return shape


def _circle(pen: Any, centre: Point, size: float, turn: float, colour: Any) -> None:
    pen.ellipse(_bounding_box(centre, size), fill=colour)


def _ring(pen: Any, centre: Point, size: float, turn: float, colour: Any) -> None:
    pen.ellipse(_bounding_box(centre, size), outline=colour, width=int(size / 3))


def _bar(pen: Any, centre: Point, size: float, turn: float, colour: Any) -> None:
    pen.line(_polygon(centre, [size, size], turn), fill=colour, width=int(size / 3))


def _cross(pen: Any, centre: Point, size: float, turn: float, colour: Any) -> None:
    _bar(pen, centre, size, turn, colour)
    _bar(pen, centre, size, turn + math.tau / 4, colour)


_SHAPES: dict[str, Callable[..., None]] = {
    "bar": _bar,
    "circle": _circle,
    "cross": _cross,
    "diamond": _corners(lambda size: [size, size * 0.55] * 2),
    "ring": _ring,
    "square": _corners(lambda size: [size] * 4),
    "star": _corners(lambda size: [size, size * 0.4] * 5),
    "triangle": _corners(lambda size: [size] * 3),
}

"""One row at a time with OpenCV and numpy: for peers that leave the image work to the user's Python."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from . import CROP, MEAN, SHORT, SIDE, STD

__all__ = ["evaluate_bytes", "evaluate_file", "pair_bytes", "pair_files", "train_bytes", "train_file"]


@functools.cache
def cv() -> Any:
    import cv2

    cv2.setNumThreads(0)  # the workers are the parallelism
    return cv2


def _decoded(data: bytes) -> Any:
    return cv().imdecode(np.frombuffer(data, np.uint8), cv().IMREAD_COLOR_RGB)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _part(high: int, wide: int, random: Any) -> tuple[int, int, int, int]:
    """A random part as torchvision draws it: 8 to 100 % of the area, 3:4 to 4:3."""
    for _ in range(10):
        area = high * wide * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= wide and 0 < h <= high:
            return int(random.integers(high - h + 1)), int(random.integers(wide - w + 1)), h, w
    side = min(high, wide)
    return (high - side) // 2, (wide - side) // 2, side, side


_SCALE = (1 / np.array(STD, np.float32)).reshape(3, 1, 1)
_SHIFT = (-np.array(MEAN, np.float32) / np.array(STD, np.float32)).reshape(3, 1, 1)


def _finish(image: Any) -> Any:
    made = np.multiply(image.transpose(2, 0, 1), _SCALE, dtype=np.float32, order="C")
    made += _SHIFT
    return made


def train_bytes(data: bytes, random: Any) -> Any:
    image = _decoded(data)
    top, left, high, wide = _part(*image.shape[:2], random)
    image = cv().resize(image[top : top + high, left : left + wide], (SIDE, SIDE))
    return _finish(image[:, ::-1] if random.random() < 0.5 else image)


def evaluate_bytes(data: bytes) -> Any:
    image = _decoded(data)
    high, wide = image.shape[:2]
    scale = SHORT / min(high, wide)
    image = cv().resize(image, (max(SHORT, int(wide * scale)), max(SHORT, int(high * scale))))
    top, left = (image.shape[0] - SIDE) // 2, (image.shape[1] - SIDE) // 2
    return _finish(image[top : top + SIDE, left : left + SIDE])


def pair_bytes(data: bytes, mask_data: bytes, random: Any) -> tuple[Any, Any]:
    image = _decoded(data)
    mask = cv().imdecode(np.frombuffer(mask_data, np.uint8), cv().IMREAD_GRAYSCALE)
    top = int(random.integers(image.shape[0] - CROP + 1))
    left = int(random.integers(image.shape[1] - CROP + 1))
    image, mask = image[top : top + CROP, left : left + CROP], mask[top : top + CROP, left : left + CROP]
    if random.random() < 0.5:
        image, mask = cv().flip(image, 1), cv().flip(mask, 1)
    image = cv().resize(image, (SIDE, SIDE))
    return _finish(image), cv().resize(mask, (SIDE, SIDE), interpolation=cv().INTER_NEAREST)


# --- the same from files -----------------------------------------------------------------------------------------


def train_file(item: tuple[str, int], random: Any) -> tuple[Any, Any]:
    return train_bytes(_read(item[0]), random), item[1]


def evaluate_file(item: tuple[str, int], random: Any = None) -> tuple[Any, Any]:
    return evaluate_bytes(_read(item[0])), item[1]


def pair_files(item: tuple[str, str], random: Any) -> tuple[Any, Any]:
    return pair_bytes(_read(item[0]), _read(item[1]), random)

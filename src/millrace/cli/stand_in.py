"""Image transforms for the quickstart where ``millrace.dataset.vision`` has none yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from millrace.core.rng import Draws
from millrace.transforms.base import Transform

__all__ = ["HWC2CHW", "Decode", "Normalize", "RandomHorizontalFlip", "RandomResizedCrop"]


class Decode(Transform):
    """JPEG bytes to an RGB image."""

    heavy = True

    def row(self, data: Any) -> Any:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
        if image is None:
            raise ValueError("not an image")
        return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


class RandomResizedCrop(Transform):
    """A random part of the image, at one size."""

    random = True

    def __init__(self, size: int) -> None:
        self.size = size

    def params(self, draws: Draws) -> tuple[Sequence[Any], ...]:
        return draws.uniform(0, 0.3, 1.0), draws.uniform(1), draws.uniform(2)

    def row(self, image: Any, share: float, right: float, down: float) -> Any:
        height, width = (int(side * share**0.5) for side in image.shape[:2])
        top, left = int(down * (image.shape[0] - height)), int(right * (image.shape[1] - width))
        return cv2.resize(image[top : top + height, left : left + width], (self.size, self.size))


class RandomHorizontalFlip(Transform):
    """Left becomes right, in half of the rows."""

    random = True

    def params(self, draws: Draws) -> tuple[Sequence[Any], ...]:
        return (draws.chance(0, 0.5),)

    def row(self, image: Any, flip: bool) -> Any:
        return cv2.flip(image, 1) if flip else image


class Normalize(Transform):
    """(image - mean) / std, by channel."""

    def __init__(self, mean: list[float], std: list[float]) -> None:
        self.mean, self.std = mean, std

    def row(self, image: Any) -> Any:
        return (image - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)


class HWC2CHW(Transform):
    """Channels first."""

    def row(self, image: Any) -> Any:
        return np.ascontiguousarray(image.transpose(2, 0, 1))

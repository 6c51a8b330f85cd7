"""JPEG files that are as hard to decode as photographs, with masks for segmentation: drawn, so nothing is fetched.

Photographs have much of their contrast in large shapes, some at every finer scale, and hard edges; so do these:
layers of noise at halving scales, shapes with flat colours pasted over, and a little grain. At JPEG quality 95 that
comes to about 95 KB for 500 x 375, as in the usual photo collections.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from . import folder, kept

__all__ = ["CLASSES", "COUNT", "classes", "draw", "paths", "voc"]

COUNT, CLASSES, REGIONS = 600, 10, 21
QUALITY = 95


def count(quick: bool) -> int:
    return 64 if quick else COUNT


def draw(number: int) -> tuple[Any, Any]:
    """Picture ``number`` as (RGB image, mask of its shapes), uint8, about 500 x 375, upright every fourth."""
    import cv2

    random = np.random.default_rng([20, number])
    high, wide = 375 + int(random.integers(-15, 16)), 500 + int(random.integers(-20, 21))
    if number % 4 == 3:
        high, wide = wide, high
    image = np.zeros((high, wide, 3), np.float32)
    for level in range(7):
        cells = 2 << level
        layer = random.normal(size=(cells * 3 // 4 + 1, cells, 1)) + 0.4 * random.normal(
            size=(cells * 3 // 4 + 1, cells, 3)
        )
        image += (
            cv2.resize(layer.astype(np.float32), (wide, high), interpolation=cv2.INTER_CUBIC) / 1.45**level
        )
    image = 128 + 42 * image
    mask = np.zeros((high, wide), np.uint8)
    for _ in range(int(random.integers(3, 9))):
        centre = (int(random.integers(wide)), int(random.integers(high)))
        axes = (int(random.integers(20, wide // 3)), int(random.integers(20, high // 3)))
        shape = np.zeros((high, wide), np.uint8)
        cv2.ellipse(shape, centre, axes, float(random.integers(180)), 0, 360, 1, -1)
        inside = shape > 0
        image[inside] = 0.45 * image[inside] + 0.55 * random.integers(0, 256, 3)
        mask[inside] = random.integers(1, REGIONS)
    image += random.normal(0, 6, (high, wide, 1))
    return np.clip(image, 0, 255).astype(np.uint8), mask


def _write_jpeg(path: Path, image: Any) -> None:
    import cv2

    coded, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert coded, path
    path.write_bytes(data.tobytes())


def classes(quick: bool, some: int | None = None) -> Path:
    """A folder with a folder of JPEG files per class."""
    rows = some or count(quick)

    def one(root: Path, number: int) -> None:
        place = root / f"class{number % CLASSES}"
        place.mkdir(parents=True, exist_ok=True)
        _write_jpeg(place / f"{number:05}.jpg", draw(number)[0])

    def write(root: Path) -> None:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(functools.partial(one, root), range(rows)))

    return kept(folder() / f"jpeg-{rows}", write)


def paths(quick: bool) -> tuple[list[str], list[int]]:
    """The same as lists, in ImageFolder's order: the files and the number of the class of each."""
    found = sorted(classes(quick).glob("*/*.jpg"))
    return [str(path) for path in found], [int(path.parent.name.removeprefix("class")) for path in found]


def encoded(quick: bool) -> Iterator[tuple[bytes, int]]:
    """The bytes of each file with its label, for the packed formats."""
    for path, label in zip(*paths(quick), strict=True):
        yield Path(path).read_bytes(), label


def voc(quick: bool) -> Path:
    """Images with masks in the folders of Pascal VOC: JPEGImages, SegmentationClass, ImageSets."""

    def write(root: Path) -> None:
        import cv2

        for name in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
            (root / name).mkdir(parents=True)
        for number in range(count(quick)):
            image, mask = draw(number)
            _write_jpeg(root / "JPEGImages" / f"{number:05}.jpg", image)
            cv2.imwrite(str(root / "SegmentationClass" / f"{number:05}.png"), mask)
        names = "".join(f"{number:05}\n" for number in range(count(quick)))
        (root / "ImageSets/Segmentation/train.txt").write_text(names)

    return kept(folder() / f"voc-{count(quick)}", write)


def pairs(quick: bool) -> list[tuple[str, str]]:
    """The same as a list of (image file, mask file)."""
    root = voc(quick)
    names = (root / "ImageSets/Segmentation/train.txt").read_text().split()
    return [(str(root / f"JPEGImages/{n}.jpg"), str(root / f"SegmentationClass/{n}.png")) for n in names]

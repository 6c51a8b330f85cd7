"""Pipelines for a card: what moves by itself, what moves when it is asked to; for tests here and where a GPU is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import millrace.dataset as ds
from millrace.dataset import transforms, vision
from millrace.dataset.vision import Inter

__all__ = ["ASKED", "EXACT", "MEAN", "STD", "folder", "pictures", "sized"]

MEAN, STD = [123.7, 116.3, 103.5], [58.4, 57.1, 57.4]


def pictures(count: int = 10, size: tuple[int, ...] = (24, 30, 3), dtype: Any = np.uint8) -> Any:
    drawn = np.random.default_rng(3).integers(0, 256, (count, *size)).astype(dtype)
    return ds.NumpySlicesDataset({"image": drawn, "label": np.arange(count, dtype=np.int32)}, shuffle=False)


def sized(count: int = 9) -> Any:
    """Pictures of different sizes."""
    rng = np.random.default_rng(5)
    made = [rng.integers(0, 256, (20 + 3 * i, 50 - 2 * i, 3)).astype(np.uint8) for i in range(count)]

    def rows() -> Any:
        for i, picture in enumerate(made):
            yield picture, np.int32(i)

    return ds.GeneratorDataset(rows, ["image", "label"])


EXACT: dict[str, Callable[[], list[Any]]] = {
    "normalise": lambda: [vision.Normalize(MEAN, STD)],
    "normalise, channels first": lambda: [vision.HWC2CHW(), vision.Normalize(MEAN, STD, is_hwc=False)],
    "normalise, then channels first": lambda: [vision.Normalize(MEAN, STD), vision.HWC2CHW()],
    "normalise by one number": lambda: [vision.Normalize([7.5], [3.25])],
    "rescale": lambda: [vision.Rescale(1 / 255, 0.0), vision.HWC2CHW()],
    "rescale and shift": lambda: [vision.Rescale(1 / 127.5, -1.0), vision.HWC2CHW()],
    "to tensor": lambda: [vision.ToTensor()],
    "to tensor, half": lambda: [vision.ToTensor(np.float16)],
    "types": lambda: [vision.HWC2CHW(), transforms.TypeCast(np.float16)],
    "to type": lambda: [vision.ToType(np.int32), vision.Normalize(MEAN, STD), vision.ToType(np.float64)],
    "mirror images": lambda: [vision.HorizontalFlip(), vision.VerticalFlip(), vision.HWC2CHW()],
    "random mirror images": lambda: [
        vision.RandomHorizontalFlip(0.5),
        vision.RandomVerticalFlip(0.5),
        vision.Normalize(MEAN, STD),
        vision.HWC2CHW(),
    ],
}


ASKED: dict[str, Callable[[], list[Any]]] = {
    "crop": lambda: [vision.Crop((2, 3), (11, 13))],
    "middle": lambda: [vision.CenterCrop((10, 9))],
    "random crop": lambda: [vision.RandomCrop((10, 12))],
    "resize": lambda: [vision.Resize((17, 23))],
    "resize, nearest": lambda: [vision.Resize((17, 40), Inter.NEAREST)],
    "shorter side, then the middle": lambda: [vision.Resize(20), vision.CenterCrop(18)],
    "crop, then resize": lambda: [vision.RandomCrop((15, 20)), vision.Resize((9, 9))],
    "random part": lambda: [vision.RandomResizedCrop((12, 14)), vision.RandomHorizontalFlip()],
    "given part": lambda: [vision.ResizedCrop(1, 2, 13, 16, (20, 8))],
    "brighter": lambda: [vision.AdjustBrightness(1.37)],
    "gamma": lambda: [vision.AdjustGamma(0.7, 1.1)],
    "invert": lambda: [vision.Invert(), vision.RandomInvert(0.5)],
    "posterize": lambda: [vision.RandomPosterize((2, 6))],
    "solarize": lambda: [vision.RandomSolarize((20, 200)), vision.Solarize((0, 90))],
}


def folder(path: Any, count: int = 6) -> str:
    rng = np.random.default_rng(0)
    (path / "a").mkdir()
    for i in range(count):
        image = rng.integers(0, 256, (40 + i, 50, 3)).astype(np.uint8)
        vision.write_jpeg(str(path / "a" / f"{i}.jpg"), image)
    return str(path)

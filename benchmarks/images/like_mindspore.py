"""Millrace and MindSpore: the same lines, on the modules that are given."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from benchmarks.data import mindrecords, pictures

from . import BATCH, CROP, LABELLED, MASKED, MEAN, SHORT, SIDE, STD, timed

__all__ = ["evaluate", "packed", "pairs", "train", "variants"]


def _modules(package: str) -> tuple[Any, Any]:
    return importlib.import_module(f"{package}.dataset"), importlib.import_module(f"{package}.dataset.vision")


def _batches(rows: Any) -> Any:
    return rows.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)


def _augment(vision: Any) -> list[Any]:
    return [
        vision.RandomCropDecodeResize(SIDE),
        vision.RandomHorizontalFlip(),
        vision.Normalize(MEAN, STD),
        vision.HWC2CHW(),
    ]


def train(package: str, quick: bool, **workers: int) -> dict[str, Any]:
    ds, vision = _modules(package)

    def build() -> Any:
        rows = ds.ImageFolderDataset(str(pictures.classes(quick)), shuffle=True, **workers)
        return _batches(rows.map(_augment(vision), ["image"], **workers))

    return timed(build, quick, LABELLED)


def evaluate(package: str, quick: bool, **workers: int) -> dict[str, Any]:
    ds, vision = _modules(package)
    steps = [
        vision.Decode(),
        vision.Resize(SHORT),
        vision.CenterCrop(SIDE),
        vision.Normalize(MEAN, STD),
        vision.HWC2CHW(),
    ]

    def build() -> Any:
        rows = ds.ImageFolderDataset(str(pictures.classes(quick)), shuffle=False, **workers)
        return _batches(rows.map(steps, ["image"], **workers))

    return timed(build, quick, LABELLED)


def packed(package: str, quick: bool, **workers: int) -> dict[str, Any]:
    ds, vision = _modules(package)
    records = importlib.import_module(f"{package}.mindrecord")
    path = mindrecords.prepared(records, "pictures", pictures.count(quick))

    def build() -> Any:
        rows = ds.MindDataset(path, ["data", "label"], shuffle=True, **workers)
        return _batches(rows.map(_augment(vision), ["data"], **workers))

    return timed(build, quick, LABELLED)


def pairs(package: str, quick: bool, **workers: int) -> dict[str, Any]:
    ds, vision = _modules(package)

    def build() -> Any:
        rows = ds.VOCDataset(
            str(pictures.voc(quick)), task="Segmentation", usage="train", decode=True, shuffle=True, **workers
        )
        rows = rows.map(
            [vision.RandomCrop(CROP), vision.RandomHorizontalFlip()], ["image", "target"], **workers
        )
        image = [vision.Resize((SIDE, SIDE)), vision.Normalize(MEAN, STD), vision.HWC2CHW()]
        # a grey PNG is decoded to three equal channels; grey of those is the mask again
        grey = vision.ConvertColor(vision.ConvertMode.COLOR_RGB2GRAY)
        mask = [vision.Resize((SIDE, SIDE), vision.Inter.NEAREST), grey]
        return _batches(rows.map(image, ["image"], **workers).map(mask, ["target"], **workers))

    return timed(build, quick, MASKED)


def variants(work: Any) -> dict[str, dict[str, Any]]:
    """Millrace with its defaults; MindSpore with its own (8 workers an operation) and with fewer."""
    mindspore = functools.partial(work, "mindspore")
    return {
        "millrace": {"default": functools.partial(work, "millrace")},
        "mindspore": {
            "default": mindspore,
            "2 workers": functools.partial(mindspore, num_parallel_workers=2),
        },
    }

"""Hugging Face datasets: an image column with torchvision transforms (set_transform), read through a DataLoader."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from benchmarks.data import packed as records
from benchmarks.data import pictures

from . import LABELLED, MASKED, opencv, timed
from .torch import MODULES, Pairs, loader, pil_evaluate, pil_train

__all__ = ["evaluate", "packed", "pairs", "train", "variants"]


def _files(quick: bool, decode: bool) -> Any:
    import datasets

    paths, labels = pictures.paths(quick)
    rows = datasets.Dataset.from_dict({"image": paths, "label": labels})
    return rows.cast_column("image", datasets.Image(decode=decode))


class _Transform:
    """What with_transform takes: a function of a dict of lists."""

    def __init__(self, function: Any, random: bool) -> None:
        self.function, self.is_random, self.random = function, random, None

    def __call__(self, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        if self.is_random and self.random is None:
            self.random = np.random.default_rng()
        extra = (self.random,) if self.is_random else ()
        return {"image": [self.function(v, *extra) for v in rows["image"]], "label": rows["label"]}


def _pil(transform: Any) -> Any:
    return lambda image: transform(image.convert("RGB"))


def _bytes(function: Any) -> Any:
    def call(image: Any, *random: Any) -> Any:
        data = image["bytes"]
        if data is None:
            with open(image["path"], "rb") as file:
                data = file.read()
        return function(data, *random)

    return call


def _columns(rows: list[dict[str, Any]]) -> Any:
    """The loader's default collation, as a tuple."""
    from torch.utils.data import default_collate

    return tuple(default_collate(rows).values())


def _loader(rows: Any, workers: int, shuffle: bool) -> Any:
    return loader(rows, workers, shuffle, collate_fn=_columns)


def _train(rows: Any, workers: int, decode: str) -> Any:
    function = (
        _Transform(_bytes(opencv.train_bytes), True)
        if decode == "OpenCV"
        else _Transform(_pil(pil_train()), False)
    )
    return _loader(rows.with_transform(function), workers, shuffle=True)


def train(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    return timed(
        lambda: _train(_files(quick, decode != "OpenCV"), workers, decode),
        quick,
        LABELLED,
        "datasets",
        *MODULES,
    )


def packed(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    import datasets

    path = str(records.arrow(quick))

    def build() -> Any:
        rows = datasets.load_from_disk(path)
        if decode == "OpenCV":
            rows = rows.cast_column("image", datasets.Image(decode=False))
        return _train(rows, workers, decode)

    return timed(build, quick, LABELLED, "datasets", *MODULES)


def evaluate(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        work = _bytes(opencv.evaluate_bytes) if decode == "OpenCV" else _pil(pil_evaluate())
        rows = _files(quick, decode != "OpenCV").with_transform(_Transform(work, False))
        return _loader(rows, workers, shuffle=False)

    return timed(build, quick, LABELLED, "datasets", *MODULES)


class _PairTransform:
    def __init__(self, decode: str) -> None:
        self.decode, self.random = decode, np.random.default_rng()
        self.work = Pairs([])

    def __call__(self, rows: dict[str, list[Any]]) -> dict[str, list[Any]]:
        both = zip(rows["image"], rows["mask"], strict=True)
        if self.decode == "OpenCV":
            made = [opencv.pair_files((a["path"], b["path"]), self.random) for a, b in both]
        else:
            made = [self.work.together(a, b) for a, b in both]
        return {"image": [a for a, _ in made], "mask": [b for _, b in made]}


def pairs(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    import datasets

    def build() -> Any:
        images, masks = zip(*pictures.pairs(quick), strict=True)
        rows = datasets.Dataset.from_dict({"image": list(images), "mask": list(masks)})
        kind = datasets.Image(decode=decode != "OpenCV")
        rows = rows.cast_column("image", kind).cast_column("mask", kind)
        return _loader(rows.with_transform(_PairTransform(decode)), workers, shuffle=True)

    return timed(build, quick, MASKED, "datasets", *MODULES)


def variants(work: Any) -> dict[str, Any]:
    made = [("Pillow", 2), ("OpenCV", 2)]
    return {f"{d}, {w} workers": functools.partial(work, workers=w, decode=d) for d, w in made}

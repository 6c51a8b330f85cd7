"""WebDataset: four tars, read and decoded in the workers of its loader, shuffled in a buffer that holds all."""

from __future__ import annotations

import functools
import io
from typing import Any

import numpy as np

from benchmarks.data import packed as records
from benchmarks.data import pictures

from . import BATCH, LABELLED, MASKED, opencv, timed
from .torch import MODULES, Pairs, pil_evaluate, pil_train

__all__ = ["evaluate", "packed", "pairs", "train", "variants"]


class _Random:
    """A function of (bytes, random) as one of bytes, with one stream of random numbers per worker."""

    def __init__(self, function: Any) -> None:
        self.function, self.random = function, None

    def __call__(self, data: Any) -> Any:
        if self.random is None:
            self.random = np.random.default_rng()
        return self.function(data, self.random)


def _same(value: Any) -> Any:
    return value


def _label(value: bytes) -> int:
    return int(value)


def _loader(rows: Any, workers: int) -> Any:
    """Batches are made in the workers, as its documentation advises."""
    import torch
    import webdataset as wds

    if workers:
        torch.set_num_threads(1)
    return wds.WebLoader(rows, batch_size=None, num_workers=workers, persistent_workers=workers > 0)


def _open(tars: list[str], quick: bool, shuffle: bool) -> Any:
    import webdataset as wds

    rows = wds.WebDataset(
        tars, shardshuffle=len(tars) if shuffle else False, workersplitter=wds.split_by_worker
    )
    return rows.shuffle(pictures.count(quick)) if shuffle else rows


def train(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        rows = _open(records.tars(quick), quick, shuffle=True)
        if decode == "OpenCV":
            rows = rows.to_tuple("jpg", "cls").map_tuple(_Random(opencv.train_bytes), _label)
        else:
            rows = rows.decode("pil").to_tuple("jpg", "cls").map_tuple(pil_train(), _same)
        return _loader(rows.batched(BATCH), workers)

    return timed(build, quick, LABELLED, "webdataset", *MODULES)


packed = train


def evaluate(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        rows = _open(records.tars(quick), quick, shuffle=False)
        if decode == "OpenCV":
            rows = rows.to_tuple("jpg", "cls").map_tuple(opencv.evaluate_bytes, _label)
        else:
            rows = rows.decode("pil").to_tuple("jpg", "cls").map_tuple(pil_evaluate(), _same)
        return _loader(rows.batched(BATCH), workers)

    return timed(build, quick, LABELLED, "webdataset", *MODULES)


def _pair(item: tuple[bytes, bytes], random: Any) -> Any:
    return opencv.pair_bytes(*item, random)


class _PilPair:
    """Its "pil" decoder would make three channels of the mask."""

    def __init__(self) -> None:
        self.work = Pairs([])

    def __call__(self, item: tuple[bytes, bytes]) -> Any:
        from PIL import Image

        return self.work.together(*[Image.open(io.BytesIO(data)) for data in item])


def pairs(quick: bool, workers: int, decode: str) -> dict[str, Any]:
    def build() -> Any:
        rows = _open(records.pair_tars(quick), quick, shuffle=True)
        if decode == "OpenCV":
            rows = rows.to_tuple("jpg", "png").map(_Random(_pair))
        else:
            rows = rows.to_tuple("jpg", "png").map(_PilPair())
        return _loader(rows.batched(BATCH), workers)

    return timed(build, quick, MASKED, "webdataset", *MODULES)


def variants(work: Any) -> dict[str, Any]:
    made = [("Pillow", 2), ("OpenCV", 2)]
    return {f"{d}, {w} workers": functools.partial(work, workers=w, decode=d) for d, w in made}

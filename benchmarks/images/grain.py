"""Grain: a map-style source, shuffled, with random_map; on its reading threads, and on worker processes."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.data import packed as records
from benchmarks.data import pictures
from benchmarks.measure import Stream

from . import BATCH, LABELLED, MASKED, opencv, steps, timed

__all__ = ["evaluate", "packed", "pairs", "train", "variants"]


def _pipeline(rows: Any, workers: int, threads: int, quick: bool) -> Any:
    import grain

    options = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=4 * BATCH)
    batches = rows.repeat().to_iter_dataset(options).batch(BATCH)
    if workers:
        batches = batches.mp_prefetch(grain.MultiprocessingOptions(num_workers=workers))
    return Stream(batches, steps(quick))


class Augment:
    """A class, as Grain wants it for worker processes: a random transform of one element."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, item: Any, random: Any) -> Any:
        return self.function(item, random)


def _record(data: bytes, random: Any) -> tuple[Any, int]:
    return opencv.train_bytes(data[1:], random), data[0]


def _run(items: Any, function: Any, quick: bool, like: Any, options: dict[str, int]) -> dict[str, Any]:
    import grain

    def build() -> Any:
        rows = grain.MapDataset.source(items()).seed(1).shuffle().random_map(Augment(function))
        return _pipeline(rows, quick=quick, **options)

    return timed(build, quick, like, "cv2", "grain")


def _files(quick: bool) -> list[tuple[str, int]]:
    return list(zip(*pictures.paths(quick), strict=True))


def train(quick: bool, **options: int) -> dict[str, Any]:
    return _run(lambda: _files(quick), opencv.train_file, quick, LABELLED, options)


def evaluate(quick: bool, **options: int) -> dict[str, Any]:
    import grain

    def build() -> Any:
        rows = grain.MapDataset.source(_files(quick)).map(opencv.evaluate_file)
        return _pipeline(rows, quick=quick, **options)

    return timed(build, quick, LABELLED, "cv2", "grain")


def packed(quick: bool, **options: int) -> dict[str, Any]:
    import grain

    path = str(records.array_record(quick))
    return _run(lambda: grain.sources.ArrayRecordDataSource(path), _record, quick, LABELLED, options)


def pairs(quick: bool, **options: int) -> dict[str, Any]:
    return _run(lambda: pictures.pairs(quick), opencv.pair_files, quick, MASKED, options)


def variants(work: Any) -> dict[str, Any]:
    """Its 16 default threads, two, and two processes that read on one thread each."""
    made = {
        "OpenCV, 16 threads": {"workers": 0, "threads": 16},
        "OpenCV, 2 threads": {"workers": 0, "threads": 2},
        "OpenCV, 2 processes": {"workers": 2, "threads": 1},
    }
    return {name: functools.partial(work, **options) for name, options in made.items()}

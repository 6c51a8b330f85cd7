"""DALI without a GPU: its file readers, the decoder that decodes only the crop, its fused crop-mirror-normalise."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.data import packed as records
from benchmarks.data import pictures
from benchmarks.measure import Stream

from . import BATCH, CROP, LABELLED, MASKED, MEAN, SHORT, SIDE, STD, steps, timed

__all__ = ["evaluate", "packed", "pairs", "run", "train", "variants"]


def run(define: Any, count: int, threads: int, batch: int = BATCH) -> Any:
    """Build a pipeline and read it as an endless stream: copies, since DALI reuses its buffers."""
    from nvidia.dali import pipeline_def

    made = pipeline_def(batch_size=batch, num_threads=threads, device_id=None, prefetch_queue_depth=2)(
        define
    )()
    made.build()

    def batches() -> Any:
        while True:
            columns = [column.as_array() for column in made.run()]
            # a scalar is a row of one value in DALI
            yield tuple(c[:, 0] if c.ndim == 2 and c.shape[1] == 1 else c for c in columns)

    return Stream(batches(), count)


def _finish(images: Any, flip: Any, **crop: Any) -> Any:
    from nvidia.dali import fn, types

    return fn.crop_mirror_normalize(
        images, dtype=types.FLOAT, output_layout="CHW", mean=list(MEAN), std=list(STD), mirror=flip, **crop
    )


def _augmented(files: Any) -> Any:
    from nvidia.dali import fn

    images = fn.decoders.image_random_crop(
        files, device="cpu", random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
    )
    images = fn.resize(images, resize_x=SIDE, resize_y=SIDE, antialias=False)
    return _finish(images, fn.random.coin_flip())


def train(quick: bool, threads: int) -> dict[str, Any]:
    from nvidia.dali import fn

    def define() -> Any:
        files, labels = fn.readers.file(file_root=str(pictures.classes(quick)), shuffle_after_epoch=True)
        return _augmented(files), labels

    return timed(lambda: run(define, steps(quick), threads), quick, LABELLED)


def evaluate(quick: bool, threads: int) -> dict[str, Any]:
    from nvidia.dali import fn

    def define() -> Any:
        files, labels = fn.readers.file(file_root=str(pictures.classes(quick)))
        images = fn.resize(fn.decoders.image(files, device="cpu"), resize_shorter=SHORT, antialias=False)
        return _finish(images, 0, crop=(SIDE, SIDE)), labels

    return timed(lambda: run(define, steps(quick), threads), quick, LABELLED)


def packed(quick: bool, threads: int) -> dict[str, Any]:
    from nvidia.dali import fn, tfrecord

    path = records.tfrecord(quick)
    index = records.tfrecord_index(path)

    def define() -> Any:
        kinds = {
            "image": tfrecord.FixedLenFeature((), tfrecord.string, ""),
            "label": tfrecord.FixedLenFeature([1], tfrecord.int64, -1),
        }
        parts = fn.readers.tfrecord(
            path=str(path),
            index_path=str(index),
            features=kinds,
            random_shuffle=True,
            initial_fill=pictures.count(quick),
        )
        return _augmented(parts["image"]), parts["label"]

    return timed(lambda: run(define, steps(quick), threads), quick, LABELLED)


def pairs(quick: bool, threads: int) -> dict[str, Any]:
    from nvidia.dali import fn, types

    images, masks = zip(*pictures.pairs(quick), strict=True)

    def define() -> Any:
        seed = 7  # the same order for both readers
        options = {"shuffle_after_epoch": True, "seed": seed}
        image, _ = fn.readers.file(files=list(images), name="images", **options)
        mask, _ = fn.readers.file(files=list(masks), name="masks", **options)
        image = fn.decoders.image(image, device="cpu")
        mask = fn.decoders.image(mask, device="cpu", output_type=types.GRAY)
        x, y = fn.random.uniform(range=[0.0, 1.0]), fn.random.uniform(range=[0.0, 1.0])
        flip = fn.random.coin_flip()
        part = {"crop": (CROP, CROP), "crop_pos_x": x, "crop_pos_y": y}
        image = fn.resize(fn.crop(image, **part), resize_x=SIDE, resize_y=SIDE, antialias=False)
        nearest = types.INTERP_NN
        mask = fn.resize(fn.crop(mask, **part), resize_x=SIDE, resize_y=SIDE, interp_type=nearest)
        mask = fn.flip(mask, horizontal=flip)
        return _finish(image, flip), fn.squeeze(mask, axes=[2])

    return timed(lambda: run(define, steps(quick), threads), quick, MASKED)


def variants(work: Any) -> dict[str, Any]:
    return {"2 threads": functools.partial(work, threads=2)}

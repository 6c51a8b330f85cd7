"""tf.data: the pipeline of its performance guide (AUTOTUNE, prefetch), with the decoder that decodes only the crop."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.data import packed as records
from benchmarks.data import pictures
from benchmarks.measure import Again

from . import BATCH, CROP, LABELLED, MASKED, MEAN, SHORT, SIDE, STD, timed

__all__ = ["evaluate", "packed", "pairs", "train", "variants"]


def _finish(image: Any) -> Any:
    import tensorflow as tf

    image = (tf.cast(image, tf.float32) - tf.constant(MEAN)) / tf.constant(STD)
    return tf.transpose(image, (2, 0, 1))


def _augmented(data: Any) -> Any:
    import tensorflow as tf

    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(data),
        tf.zeros([0, 0, 4]),
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
    image = tf.image.random_flip_left_right(tf.image.resize(image, (SIDE, SIDE)))
    return _finish(image)


def _centred(data: Any) -> Any:
    import tensorflow as tf

    image = tf.io.decode_jpeg(data, channels=3)
    shape = tf.shape(image)
    scale = SHORT / tf.reduce_min(shape[:2])
    size = tf.maximum(tf.cast(tf.cast(shape[:2], tf.float64) * scale, tf.int32), SHORT)
    image = tf.image.resize(image, size)
    image = tf.image.crop_to_bounding_box(image, (size[0] - SIDE) // 2, (size[1] - SIDE) // 2, SIDE, SIDE)
    return _finish(image)


def _pair(image_file: Any, mask_file: Any) -> Any:
    import tensorflow as tf

    image = tf.io.decode_jpeg(tf.io.read_file(image_file), channels=3)
    mask = tf.io.decode_png(tf.io.read_file(mask_file), channels=1)
    both = tf.image.random_flip_left_right(tf.image.random_crop(tf.concat([image, mask], 2), (CROP, CROP, 4)))
    image = tf.image.resize(both[:, :, :3], (SIDE, SIDE))
    mask = tf.image.resize(both[:, :, 3:], (SIDE, SIDE), method="nearest")
    return _finish(image), mask[:, :, 0]


def _run(rows: Any, function: Any, ordered: bool) -> Any:
    import tensorflow as tf

    rows = rows.map(function, num_parallel_calls=tf.data.AUTOTUNE, deterministic=ordered)
    rows = rows.batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return Again(rows.as_numpy_iterator)


def train(quick: bool, ordered: bool = True) -> dict[str, Any]:
    import tensorflow as tf

    def build() -> Any:
        rows = tf.data.Dataset.from_tensor_slices(pictures.paths(quick)).shuffle(pictures.count(quick))
        return _run(rows, lambda path, label: (_augmented(tf.io.read_file(path)), label), ordered)

    return timed(build, quick, LABELLED, "tensorflow")


def evaluate(quick: bool, ordered: bool = True) -> dict[str, Any]:
    import tensorflow as tf

    def build() -> Any:
        rows = tf.data.Dataset.from_tensor_slices(pictures.paths(quick))
        return _run(rows, lambda path, label: (_centred(tf.io.read_file(path)), label), ordered)

    return timed(build, quick, LABELLED, "tensorflow")


def packed(quick: bool, ordered: bool = True) -> dict[str, Any]:
    import tensorflow as tf

    kinds = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}

    def row(data: Any) -> Any:
        parts = tf.io.parse_single_example(data, kinds)
        return _augmented(parts["image"]), parts["label"]

    def build() -> Any:
        rows = tf.data.TFRecordDataset(str(records.tfrecord(quick))).shuffle(pictures.count(quick))
        return _run(rows, row, ordered)

    return timed(build, quick, LABELLED, "tensorflow")


def pairs(quick: bool, ordered: bool = True) -> dict[str, Any]:
    import tensorflow as tf

    def build() -> Any:
        images, masks = zip(*pictures.pairs(quick), strict=True)
        rows = tf.data.Dataset.from_tensor_slices((list(images), list(masks)))
        return _run(rows.shuffle(pictures.count(quick)), _pair, ordered)

    return timed(build, quick, MASKED, "tensorflow")


def variants(work: Any) -> dict[str, Any]:
    return {"AUTOTUNE": work, "AUTOTUNE, any order": functools.partial(work, ordered=False)}

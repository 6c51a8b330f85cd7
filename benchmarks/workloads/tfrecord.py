"""TFRecord: Examples of ten features, decoded, checksums compared, and batched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.data import folder, kept, seconds, tfrecords
from benchmarks.measure import Again, loop

from . import STREAM, Bar, in_order_and_shuffled

TITLE = "TFRecord"
QUESTION = "Examples of 10 features (ints, floats, bytes), batch 256"
NOTE = (
    "One file of 40,000 records of about 250 bytes. Millrace and MindSpore run the same lines; Millrace compares the "
    "checksum of every record, MindSpore does not. tf.data: whole batches through parse_example, AUTOTUNE; its "
    "shuffle is a buffer of 10,000. DALI: readers.tfrecord, with an index file made beforehand. The others read no "
    "TFRecord, or leave the Example to the user."
)
WHY = {
    "tensorflow": (
        "parse_example is given the names, types and lengths of all features and decodes a whole batch in one call of "
        "compiled code; Millrace finds them in the records."
    ),
}
FILES = ("millrace", "dali")
# two questions, not two ways to do one
PAIRED = True
METRICS = STREAM
BARS = (
    Bar("at least 3 times MindSpore", "rows_per_s", ratio=3),
    Bar("at least 1.2 times tf.data", "rows_per_s", ratio=1.2, peer="tensorflow"),
)

BATCH = 256


def count(quick: bool) -> int:
    return 600 if quick else 40_000


def path(quick: bool) -> Path:
    name = f"ten-{'quick' if quick else 'full'}.tfrecord"
    return kept(folder() / name, lambda p: tfrecords.write(p, tfrecords.ten_features(count(quick))))


def timed(build: Any, quick: bool) -> dict[str, Any]:
    return loop(build, seconds(quick), rows=count(quick))


def like_mindspore(ds: Any, quick: bool, shuffle: bool = False) -> dict[str, Any]:
    file = str(path(quick))

    def build() -> Any:
        batches = ds.TFRecordDataset(file, shuffle=shuffle).batch(BATCH)
        return batches.create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return timed(build, quick)


def millrace(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, shuffle)


def mindspore(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, shuffle)


# name -> (type, values per row)
FEATURES = {
    **dict.fromkeys(("id", "small", "large", "digit"), ("int64", 1)),
    "four": ("int64", 4),
    **dict.fromkeys(("one", "half"), ("float32", 1)),
    "eight": ("float32", 8),
    "sixteen": ("float32", 16),
    "name": ("string", 1),
}


def tensorflow(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    import tensorflow as tf

    file = str(path(quick))

    def build() -> Any:
        kinds = {k: tf.io.FixedLenFeature([n], getattr(tf, kind)) for k, (kind, n) in FEATURES.items()}
        rows = tf.data.TFRecordDataset(file)
        if shuffle:
            rows = rows.shuffle(10_000)
        batches = rows.batch(BATCH).map(lambda some: tf.io.parse_example(some, kinds), tf.data.AUTOTUNE)
        batches = batches.prefetch(tf.data.AUTOTUNE)
        return Again(lambda: (tuple(batch.values()) for batch in batches.as_numpy_iterator()))

    return timed(build, quick)


def dali(quick: bool, shuffle: bool = False) -> dict[str, Any]:
    from nvidia.dali import fn, tfrecord

    from benchmarks.images.dali import run

    file = path(quick)
    index = kept(file.with_suffix(".idx"), lambda into: tfrecords.index(file, into))
    types = {
        "int64": (tfrecord.int64, 0),
        "float32": (tfrecord.float32, 0.0),
        "string": (tfrecord.string, ""),
    }

    def define() -> Any:
        kinds = {
            k: tfrecord.FixedLenFeature(() if kind == "string" else [n], *types[kind])
            for k, (kind, n) in FEATURES.items()
        }
        options = {"random_shuffle": True, "initial_fill": 10_000} if shuffle else {}
        parts = fn.readers.tfrecord(path=str(file), index_path=str(index), features=kinds, **options)
        return tuple(parts[k] for k in FEATURES)

    return timed(lambda: run(define, -(-count(quick) // BATCH), 2, BATCH), quick)


VARIANTS = in_order_and_shuffled(
    {
        "millrace": millrace,
        "mindspore": mindspore,
        "tensorflow": tensorflow,
        "dali": dali,
    }
)

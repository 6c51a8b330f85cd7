"""What a cache gives: decoded and resized pictures, the first epoch and those that follow."""

from __future__ import annotations

from typing import Any

from benchmarks.caches import FIRST, LATER, METRICS, beside, epochs, mindspore_session, own_session
from benchmarks.data import pictures, seconds
from benchmarks.images import BATCH, SIDE
from benchmarks.measure import Again

from . import Bar

TITLE = "Cache: JPEG decode and resize"
QUESTION = (
    "the same files, decode, resize to 224 x 224, kept in a cache, batch 32: an epoch once all rows are kept"
)
NOTE = (
    "Millrace and MindSpore run the same lines: ImageFolderDataset, map([Decode, Resize], cache=DatasetCache(...)), "
    "batch, each with a server of its own and a new session. Millrace also with the cache of its process; tf.data: "
    "`cache()` in memory behind its map. Millrace's epochs with and without a cache are timed in turns in one process, "
    "the first ones from the building of the pipeline to its last batch, and the best of each counts. The CPU time of "
    "a server that is no child of the process is not counted."
)
FILES = ("millrace",)
# two places to keep rows in, not two ways to do one thing
PAIRED = True
BARS = (
    Bar("at least 3 times MindSpore's cache", "rows_per_s", ratio=3, variant="server"),
    Bar("first epoch at most 5 % slower than without", FIRST, below=5.0),
    Bar("later epochs at least 5 times as fast as without", LATER, below=20.0),
)
TURNS = 3
LIKE = (((SIDE, SIDE, 3), "uint8"), ((), None))

__all__ = ["BARS", "METRICS", "VARIANTS"]


def _pipeline(ds: Any, vision: Any, cache: Any, quick: bool, first_label: int = 0, **workers: int) -> Any:
    labels = {f"class{n}": n + first_label for n in range(pictures.CLASSES)}
    rows = ds.ImageFolderDataset(
        str(pictures.classes(quick)), shuffle=False, class_indexing=labels, **workers
    )
    rows = rows.map([vision.Decode(), vision.Resize((SIDE, SIDE))], ["image"], cache=cache, **workers)
    return rows.batch(BATCH)


def millrace(quick: bool, **where: int) -> dict[str, Any]:
    import millrace.dataset as ds
    from millrace.dataset import vision

    def build(cached: bool, turn: int, number: int) -> Any:
        cache = ds.DatasetCache(**where) if cached else None
        rows = _pipeline(ds, vision, cache, quick, turn)
        return rows.create_tuple_iterator(num_epochs=number, output_numpy=True)

    turns = 1 if quick else TURNS
    return beside(build, turns, seconds(quick), pictures.count(quick), LIKE)


def with_server(quick: bool) -> dict[str, Any]:
    pictures.classes(quick)
    with own_session() as (session, port):
        return millrace(quick, session_id=session, port=port)


def mindspore(quick: bool, **workers: int) -> dict[str, Any]:
    import mindspore.dataset as ds
    from mindspore.dataset import vision

    with mindspore_session() as (session, port):
        cache = ds.DatasetCache(session, port=port)

        def build() -> Any:
            rows = _pipeline(ds, vision, cache, quick, **workers)
            return rows.create_tuple_iterator(num_epochs=-1, output_numpy=True)

        return epochs(build, seconds(quick), pictures.count(quick), LIKE)


def tensorflow(quick: bool) -> dict[str, Any]:
    import tensorflow as tf

    def row(path: Any, label: Any) -> Any:
        image = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), (SIDE, SIDE))
        return tf.cast(image, tf.uint8), label

    def build() -> Any:
        rows = tf.data.Dataset.from_tensor_slices(pictures.paths(quick))
        rows = rows.map(row, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).cache()
        return Again(rows.batch(BATCH).prefetch(tf.data.AUTOTUNE).as_numpy_iterator)

    return epochs(build, seconds(quick), pictures.count(quick), LIKE)


VARIANTS = {
    "millrace": {"server": with_server, "own process": millrace},
    "mindspore": {
        "server": lambda quick: mindspore(quick, num_parallel_workers=2),
        "server, 8 workers": mindspore,
    },
    "tensorflow": {"own process": tensorflow},
}

"""A function that is bound to Python (it holds the GIL) on worker processes: what does the way there cost?"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import seconds
from benchmarks.measure import Stream, loop

from . import STREAM, Bar

TITLE = "Python-bound map, 2 processes"
QUESTION = "a function of about 1 ms that holds the GIL, batch 32"
NOTE = (
    "The function is a loop of 20,000 steps in pure Python and returns the row (3 KB of float32) unchanged. Millrace "
    "and MindSpore: map(..., python_multiprocessing=True, num_parallel_workers=2); PyTorch: the same function in "
    "__getitem__, 2 persistent workers; Grain: map with mp_prefetch on 2 workers."
)
WHY = {
    "grain": "its workers make whole batches by themselves; Millrace sends rows out and back, to keep one order.",
    "torch": "its workers make whole batches by themselves; Millrace sends rows out and back, to keep one order.",
}
METRICS = STREAM
BARS = (Bar("at least 1.1 times Grain", "rows_per_s", ratio=1.1, peer="grain"),)

BATCH = 32
STEPS = 20_000


def work(image: Any) -> Any:
    total = 0
    for i in range(STEPS):
        total += i
    return image


def data(quick: bool) -> Any:
    return np.random.default_rng(0).random((64 if quick else 2_048, 28, 28, 1), dtype=np.float32)


def like_mindspore(ds: Any, quick: bool) -> dict[str, Any]:
    images = data(quick)

    def build() -> Any:
        rows = ds.NumpySlicesDataset({"image": images}, shuffle=False)
        rows = rows.map(work, input_columns=["image"], num_parallel_workers=2, python_multiprocessing=True)
        return rows.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), rows=len(images))


def millrace(quick: bool) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick)


def mindspore(quick: bool) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick)


class Worked:
    def __init__(self, images: Any) -> None:
        self.images = images

    def __getitem__(self, i: int) -> tuple[Any]:
        return (work(self.images[i]),)

    def __len__(self) -> int:
        return len(self.images)


def torch(quick: bool) -> dict[str, Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader

    images = from_numpy(data(quick))
    rows: Any = Worked(images)
    return loop(
        lambda: DataLoader(rows, BATCH, num_workers=2, persistent_workers=True),
        seconds(quick),
        rows=len(images),
    )


def grain(quick: bool) -> dict[str, Any]:
    import grain as g

    images = data(quick)

    def build() -> Any:
        rows = g.MapDataset.source([*images]).map(work).repeat()
        options = g.MultiprocessingOptions(num_workers=2)
        batches = rows.to_iter_dataset(g.ReadOptions(num_threads=1, prefetch_buffer_size=64)).batch(BATCH)
        return Stream(((batch,) for batch in batches.mp_prefetch(options)), -(-len(images) // BATCH))

    return loop(build, seconds(quick), rows=len(images))


VARIANTS = {
    "millrace": {"2 processes": millrace},
    "mindspore": {"2 processes": mindspore},
    "torch": {"2 workers": torch},
    "grain": {"2 processes": grain},
}

"""A function that is bound to Python (it holds the GIL) on worker processes: what does the way there cost?"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import loop

from . import STREAM

QUESTION = "A Python-bound function of about 1 ms in map, on 2 worker processes, batch 32"
NOTE = (
    "The function is a loop of 20,000 steps in pure Python and returns the row (3 KB of float32) unchanged. Millrace "
    "and MindSpore: map(..., python_multiprocessing=True, num_parallel_workers=2); PyTorch: the same function in "
    "__getitem__, 2 persistent workers."
)
METRICS = STREAM
BARS = ()

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

    return loop(build, 0.05 if quick else 2.0)


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
    return loop(
        lambda: DataLoader(Worked(images), BATCH, num_workers=2, persistent_workers=True),  # type: ignore[arg-type]
        0.05 if quick else 2.0,
    )


VARIANTS = {
    "millrace": {"2 processes": millrace},
    "mindspore": {"2 processes": mindspore},
    "torch": {"2 workers": torch},
}

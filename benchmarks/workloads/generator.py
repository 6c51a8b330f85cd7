"""A Python object with __getitem__, shuffled and batched: what does a row cost that Python makes?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.measure import loop

from . import STREAM, Bar
from .arrays import BATCH, data, seconds

QUESTION = "A Python __getitem__ over the same arrays, shuffled, batch 64"
NOTE = (
    "GeneratorDataset(source, shuffle=True).batch(64), with the defaults of each engine; MindSpore also with 2 "
    "workers. PyTorch: a map-style Dataset over tensors in a DataLoader with 0 and 2 (persistent) workers, and over "
    "the numpy arrays themselves with 0."
)
METRICS = STREAM
BARS = (Bar("at least 8 times MindSpore", "rows_per_s", ratio=8),)


class Rows:
    """The user's class, the same for all: row i is (x[i], y[i]), x through a function where there is one."""

    def __init__(self, images: Any, labels: Any, function: Callable[[Any], Any] | None = None) -> None:
        self.images, self.labels, self.function = images, labels, function

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        return self.images[i], self.labels[i]

    def __len__(self) -> int:
        return len(self.labels)


class MappedRows(Rows):
    """Where PyTorch users put their function."""

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        assert self.function is not None
        return self.function(self.images[i]), self.labels[i]


def like_mindspore(
    ds: Any,
    quick: bool,
    function: Callable[[Any], Any] | None = None,
    workers: int | None = None,
    epochs: int | None = None,
) -> dict[str, Any]:
    """The pipeline in the lines that Millrace and MindSpore share; ``workers`` None is the engine's default."""
    source = Rows(*data(quick))
    reading: dict[str, Any] = {} if workers is None else {"num_parallel_workers": workers}
    mapping = reading | ({} if workers is None else {"python_multiprocessing": True})

    def build() -> Any:
        rows = ds.GeneratorDataset(source, ["image", "label"], shuffle=True, **reading)
        if function is not None:
            rows = rows.map(function, input_columns=["image"], **mapping)
        return rows.batch(BATCH).create_tuple_iterator(num_epochs=-1, output_numpy=True)

    return loop(build, seconds(quick), epochs)


def like_torch(
    quick: bool, workers: int, function: Callable[[Any], Any] | None = None, epochs: int | None = None
) -> dict[str, Any]:
    from torch import from_numpy
    from torch.utils.data import DataLoader

    images, labels = data(quick)
    kind = Rows if function is None else MappedRows

    def build() -> Any:
        rows: Any = kind(from_numpy(images), from_numpy(labels), function)
        return DataLoader(rows, BATCH, shuffle=True, num_workers=workers, persistent_workers=workers > 0)

    return loop(build, seconds(quick), epochs)


def millrace(quick: bool, epochs: int | None = None) -> dict[str, Any]:
    import millrace.dataset as ds

    return like_mindspore(ds, quick, epochs=epochs)


def mindspore(quick: bool, workers: int | None = None, epochs: int | None = None) -> dict[str, Any]:
    import mindspore.dataset as ds

    return like_mindspore(ds, quick, workers=workers, epochs=epochs)


def torch(quick: bool, workers: int = 0, epochs: int | None = None) -> dict[str, Any]:
    return like_torch(quick, workers, epochs=epochs)


def torch_numpy(quick: bool) -> dict[str, Any]:
    from torch.utils.data import DataLoader

    rows: Any = Rows(*data(quick))
    return loop(lambda: DataLoader(rows, BATCH, shuffle=True), seconds(quick))


VARIANTS = {
    "millrace": {"default": millrace},
    "mindspore": {"default": mindspore, "2 workers": lambda quick: mindspore(quick, 2)},
    "torch": {
        "0 workers": torch,
        "2 workers": lambda quick: torch(quick, 2),
        "0 workers, numpy rows": torch_numpy,
    },
}

"""``TorchDataset``: a PyTorch ``Dataset`` or ``IterableDataset``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from millrace._src.core.args import Columns, as_column_list, checked
from millrace._src.core.errors import ArgumentTypeError
from millrace._src.core.public import public
from millrace._src.core.stable_ids import stable_id
from millrace._src.data.sources.base.table_dataset import NumSamples, NumWorkers
from millrace._src.data.sources.generator import GeneratorDataset

__all__ = ["TorchDataset"]


@public("dataset")
class TorchDataset(GeneratorDataset):
    """The rows of a PyTorch dataset: tensors become arrays, dicts become columns.

    PyTorch is not imported. Without ``column_names`` the first row is read once for its keys or its width
    (``column_0``, ``column_1``...).
    ``dataset.targets`` serves PKSampler, and ``dataset.samples`` names the file in an error. The other arguments
    are those of GeneratorDataset: with several workers, rows are read in processes.

    >>> import millrace.dataset as ds
    >>> class Squares:
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def __getitem__(self, i):
    ...         return {"x": i, "y": i * i}
    >>> data = ds.TorchDataset(Squares(), shuffle=False)
    >>> [row["y"].item() for row in data.create_dict_iterator(num_epochs=1)]
    [0, 1, 4]
    """

    _name = "TorchDataset"

    @checked
    def __init__(
        self,
        dataset: Any,
        column_names: Columns | None = None,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
    ) -> None:
        random_access = hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")
        if not random_access and not hasattr(dataset, "__iter__"):
            raise ArgumentTypeError(
                f"a dataset with __getitem__ and __len__, or with __iter__, is needed, but got {type(dataset)}."
            )
        names = as_column_list(column_names) or _column_names(
            dataset[0] if random_access else next(iter(dataset))
        )
        source = _wrap_map_style(dataset, names) if random_access else IterableRows(dataset, names)
        super().__init__(
            source,
            names,
            num_samples=num_samples,
            num_parallel_workers=num_parallel_workers,
            shuffle=shuffle,
            sampler=sampler,
            num_shards=num_shards,
            shard_id=shard_id,
            python_multiprocessing=python_multiprocessing,
        )


def _column_names(row: Any) -> list[str]:
    if isinstance(row, Mapping):
        return [str(name) for name in row]
    fields = getattr(row, "_fields", None)
    if fields:
        return list(fields)
    return [f"column_{i}" for i in range(len(row) if isinstance(row, (tuple, list)) else 1)]


@stable_id("source.TorchRows")
class MapStyleRows:
    """A map-style dataset whose rows are tuples of arrays."""

    def __init__(self, dataset: Any, names: list[str]) -> None:
        self.dataset, self.names = dataset, names
        self.samples = getattr(dataset, "samples", None)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return as_row(self.dataset[index], self.names)


@stable_id("source.TorchLabelledRows")
class LabelledRows(MapStyleRows):
    """A map-style dataset with labels that are known without reading the rows."""

    def get_label(self, index: int) -> Any:
        return _to_numpy(self.dataset.targets[index])


def _wrap_map_style(dataset: Any, names: list[str]) -> MapStyleRows:
    targets = getattr(dataset, "targets", None)
    return MapStyleRows(dataset, names) if targets is None else LabelledRows(dataset, names)


@stable_id("source.TorchStream")
class IterableRows:
    """An iterable dataset whose rows are tuples of arrays."""

    def __init__(self, dataset: Any, names: list[str]) -> None:
        self.dataset, self.names = dataset, names

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return (as_row(row, self.names) for row in self.dataset)


def as_row(row: Any, names: list[str]) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        return tuple(_to_numpy(row[name]) for name in names)
    if isinstance(row, (tuple, list)) and (len(names) > 1 or len(row) == 1):
        return tuple(_to_numpy(value) for value in row)
    return (_to_numpy(row),)


def _to_numpy(value: Any) -> Any:
    if hasattr(value, "detach"):  # a tensor, on whatever device
        return value.detach().cpu().numpy()
    if isinstance(value, (list, tuple)) and value and hasattr(value[0], "detach"):
        return np.stack([_to_numpy(item) for item in value])
    return value

"""``ManifestDataset``: images listed in a manifest file."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, PlanError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.manifest import read_manifest

from .base.table_dataset import (
    Cache,
    ColumnTable,
    NumSamples,
    NumWorkers,
    TableDataset,
    column_type,
    image_column,
    image_type,
)

__all__ = ["ManifestDataset"]

USAGES = ("train", "eval", "inference")


@public("dataset")
class ManifestDataset(TableDataset):
    """Images and their classes from a manifest: a JSON object per line with ``source``, ``usage``, ``annotation``.

    Columns ``image`` (the bytes of the file, or pixels with ``decode``) and ``label`` (one number, or an array when
    the image has several). Classes are numbered in the order of their names, or by ``class_indexing``; images of
    other classes are skipped.

    >>> with open("1.jpg", "wb") as file:
    ...     _ = file.write(bytes([255, 216, 255, 224]))
    >>> with open("data.manifest", "w") as file:
    ...     _ = file.write('{"source": "1.jpg", "usage": "train", "annotation": [{"name": "cat"}]}')
    >>> data = ManifestDataset("data.manifest", shuffle=False)
    >>> [row["label"].item() for row in data.create_dict_iterator(num_epochs=1)], data.get_class_indexing()
    ([0], {'cat': 0})
    """

    @checked
    def __init__(
        self,
        dataset_file: Any,
        usage: str | None = "train",
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        class_indexing: dict[Any, Any] | None = None,
        decode: bool | None = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
    ) -> None:
        _check_file(dataset_file)
        usage = usage or "train"
        if usage not in USAGES:
            raise PlanError(f"ManifestDataset: {usage} does not match any mode in [ inference eval train ]")
        for value in (class_indexing or {}).values():
            check_type(value, (int,), "class_indexing")
        make = partial(
            _table, dataset_file=dataset_file, usage=usage, class_indexing=class_indexing, decode=bool(decode)
        )
        columns = {"image": image_type(decode), "label": column_type(np.int32)}
        self._open(make, columns, locals())


def _check_file(path: Any) -> None:
    if not isinstance(path, str):
        raise ArgumentTypeError(f"path: {path} is not string")
    real = os.path.realpath(path)
    if not os.path.isfile(real) or not os.access(real, os.R_OK):
        raise ArgumentValueError(f"The file {real} does not exist or permission denied!")


def _table(dataset_file: str, usage: str, class_indexing: dict[str, int] | None, decode: bool) -> ColumnTable:
    listed = [(path, names) for path, names, use in read_manifest(dataset_file) if use == usage]
    if class_indexing:
        numbers = dict(class_indexing)
        listed = [(path, [n for n in names if n in numbers]) for path, names in listed]
        listed = [(path, names) for path, names in listed if names]
    else:
        numbers = {name: n for n, name in enumerate(sorted({n for _, names in listed for n in names}))}
    labels = [np.array([numbers[name] for name in names], np.int32) for _, names in listed]
    if all(len(label) == 1 for label in labels):
        column: Any = np.array([label[0] for label in labels], np.int32)
    else:
        column = [label[0] if len(label) == 1 else label for label in labels]
    parts = {
        "image": image_column([path for path, _ in listed], decode, listed=dataset_file),
        "label": InMemoryColumn(column),
    }
    return ColumnTable(len(listed), parts, classes=numbers, num_classes=len(numbers))

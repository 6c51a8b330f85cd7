"""Caltech256Dataset: objects of 257 kinds."""

from __future__ import annotations

from functools import partial
from typing import Any

from millrace.core.args import checked
from millrace.data.formats.images import Stored
from millrace.data.sources.images import (
    INT32,
    Cache,
    Folder,
    NumSamples,
    NumWorkers,
    Table,
    TableDataset,
    class_folders,
    image,
    pictures,
)

__all__ = ["Caltech256Dataset"]


class Caltech256Dataset(TableDataset):
    """Objects of 256 kinds and clutter, in one folder per kind: ``001.ak47/001_0001.jpg``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("objects/001.ak47").mkdir(parents=True)
    >>> _ = Path("objects/001.ak47/001_0001.jpg").write_bytes(b"...")
    >>> [row["label"].item() for row in ds.Caltech256Dataset("objects").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        decode: bool | None = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, decode=decode)
        picks = num_samples, shuffle, sampler, num_shards, shard_id
        self._open(make, {"image": image(decode), "label": INT32}, picks, num_parallel_workers, decode)


def _table(dataset_dir: str, decode: bool | None) -> Table:
    files, labels, numbers = class_folders(dataset_dir, [".jpg", ".JPEG"])
    parts = {"image": pictures(files, decode), "label": Stored(labels)}
    return Table(len(files), parts, num_classes=len(numbers))

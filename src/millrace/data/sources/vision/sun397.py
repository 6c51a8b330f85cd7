"""SUN397Dataset: scenes of 397 kinds."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from millrace.core.args import checked
from millrace.core.errors import FormatError
from millrace.data.formats.images import Stored
from millrace.data.formats.listing import FileList, files_in, lines_of
from millrace.data.sources.images import (
    UINT32,
    Cache,
    Folder,
    NumSamples,
    NumWorkers,
    Table,
    TableDataset,
    image,
    pictures,
)

__all__ = ["SUN397Dataset"]


class SUN397Dataset(TableDataset):
    """Scenes of 397 kinds, numbered as ``ClassName.txt`` lists them.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("a/abbey").mkdir(parents=True)
    >>> _ = Path("a/abbey/sun_a.jpg").write_bytes(b"...")
    >>> _ = Path("ClassName.txt").write_text("/a/abbey")
    >>> [row["label"].item() for row in ds.SUN397Dataset(".").create_dict_iterator(num_epochs=1)]
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
        self._open(make, {"image": image(decode), "label": UINT32}, picks, num_parallel_workers, decode)


def _table(dataset_dir: str, decode: bool | None) -> Table:
    files, labels = FileList(dataset_dir), []
    path = os.path.join(dataset_dir, "ClassName.txt")
    for number, line in enumerate(lines_of(path)):
        folder = line.strip().lstrip("/")
        if not os.path.isdir(os.path.join(dataset_dir, folder)):
            text = f"Invalid data, line {number + 1}: {line.strip()!r} is not a folder of {dataset_dir}"
            raise FormatError(text, file=path)
        names = [n for n in files_in(os.path.join(dataset_dir, folder), [".jpg"]) if n.startswith(b"sun_")]
        labels += [number] * files.extend(folder, names)
    return Table(len(files), {"image": pictures(files, decode), "label": Stored(np.array(labels, np.uint32))})

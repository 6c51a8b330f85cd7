"""Tables of images and labels in pairs of IDX files, for MNIST and its variants."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.column_readers import InMemoryColumn, LazyArrayColumn
from millrace._src.data.formats.idx import map_idx, read_idx
from millrace._src.data.sources.base.table_dataset import UINT32, ColumnTable, column_type

__all__ = ["IDX_COLUMNS", "idx_table", "mnist_table"]

SIDE = (28, 28)
IDX_COLUMNS = {"image": column_type("uint8", *SIDE, 1), "label": UINT32}


def mnist_table(dataset_dir: str, usage: str) -> ColumnTable:
    """Table of the MNIST file names; test precedes train, in the order of the names."""
    parts = {"train": ["train"], "test": ["t10k"], "all": ["t10k", "train"]}[usage]
    start = [os.path.join(dataset_dir, part) for part in parts]
    return idx_table(
        [(f"{s}-images-idx3-ubyte", f"{s}-labels-idx1-ubyte") for s in start], must=usage != "all"
    )


def idx_table(
    pairs: list[tuple[str, str]],
    must: bool = True,
    rank: int = 1,
    pick: int | None = None,
    keep: slice = slice(None),
) -> ColumnTable:
    """Table of pairs of image and label files; ``pick`` selects one number of each label, ``keep`` rows.

    Missing files are an error unless other pairs exist and ``must`` is False.
    """
    present = [pair for pair in pairs if all(map(os.path.isfile, pair))]
    pairs = pairs if must or not present else present
    loads, labels, sizes = [], [], []
    for images, names in pairs:
        load = partial(_images, images, keep)
        loads.append(load)
        sizes.append(len(load()))
        file_labels = _labels(names, rank)[keep]
        if len(file_labels) != sizes[-1]:
            raise FormatError(
                f"Invalid file, the number of labels in {names} ({len(file_labels)}) is not the number of images in "
                f"{images} ({sizes[-1]})",
                file=names,
            )
        labels.append(file_labels if pick is None else file_labels[:, pick])
    column = LazyArrayColumn(loads, [images for images, _ in pairs], np.cumsum(sizes).tolist(), _with_channel)
    return ColumnTable(
        sum(sizes), {"image": column, "label": InMemoryColumn(np.concatenate(labels).astype(np.uint32))}
    )


def _images(path: str, keep: slice) -> npt.NDArray[Any]:
    return map_idx(path, SIDE)[keep]


def _labels(path: str, rank: int) -> npt.NDArray[Any]:
    if not os.path.isfile(path):
        raise FormatError(f"Invalid file, failed to open: {path}", file=path)
    return read_idx(path, rank)


def _with_channel(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return rows[..., None]

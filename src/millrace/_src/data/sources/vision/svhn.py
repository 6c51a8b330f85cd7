"""``SVHNDataset``: Street View House Numbers."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn, LazyArrayColumn
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    check_readable,
    column_type,
)

__all__ = ["SVHNDataset"]


@public("dataset")
class SVHNDataset(TableDataset):
    """House numbers seen from the street, cropped to one digit of 32 x 32, from the ``.mat`` files of SVHN.

    >>> import millrace.dataset as ds
    >>> import numpy as np
    >>> from millrace._src.data.formats.mat import write_mat
    >>> write_mat(
    ...     "test_32x32.mat", {"X": np.zeros((32, 32, 3, 1), np.uint8), "y": np.array([[10]], np.uint8)}
    ... )
    >>> [row["label"].item() for row in ds.SVHNDataset(".", "test").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(RowOptions, without=("cache",), num_parallel_workers=1)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "extra", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        parts = ("train", "test", "extra") if usage in (None, "all") else (usage,)
        for part in parts if usage else ():
            check_readable(os.path.join(dataset_dir, f"{part}_32x32.mat"))
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        if shared["num_parallel_workers"] == 1:  # choose automatically
            shared["num_parallel_workers"] = None
        self._open(make, {"image": column_type("uint8", 32, 32, 3), "label": UINT32}, shared)


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    parts = ("train", "test", "extra") if usage == "all" else (usage,)
    paths = [os.path.join(dataset_dir, f"{part}_32x32.mat") for part in parts]
    labels = []
    for path in paths:
        values = read_mat(path, ["y"]).get("y")
        if not isinstance(values, np.ndarray):
            raise FormatError("Invalid file, there are no labels (y) in it", file=path)
        labels.append(values.ravel().astype(np.uint32) % 10)
    ends = np.cumsum([len(part) for part in labels]).tolist()
    image = LazyArrayColumn([partial(_images, path) for path in paths], paths, ends)
    return ColumnTable(ends[-1], {"image": image, "label": InMemoryColumn(np.concatenate(labels))})


def _images(path: str) -> Any:
    images = read_mat(path, ["X"]).get("X")
    if not isinstance(images, np.ndarray) or images.ndim != 4 or images.shape[:3] != (32, 32, 3):
        raise FormatError("Invalid file, there are no images of 32 x 32 x 3 (X) in it", file=path)
    return images.transpose(3, 0, 1, 2)

"""``Food101Dataset``: Food-101 classification."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    TEXT,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["Food101Dataset"]


@public("dataset")
class Food101Dataset(TableDataset):
    """Food-101: dishes of 101 classes; the label is the name of the dish.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> for folder in ("images/waffles", "meta"):
    ...     Path(folder).mkdir(parents=True)
    >>> _ = Path("images/waffles/7.jpg").write_bytes(b"...")
    >>> _ = Path("meta/train.txt").write_text("waffles/7")
    >>> data = ds.Food101Dataset(".", "train")
    >>> [str(row["label"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['waffles']
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "all"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all", decode=decode)
        self._open(make, {"image": image_type(decode), "label": TEXT}, shared)


def _table(dataset_dir: str, usage: str, decode: bool | None) -> ColumnTable:
    parts = ("train", "test") if usage == "all" else (usage,)
    lists = [os.path.join(dataset_dir, "meta", f"{part}.txt") for part in parts]
    names = [line.strip() for path in lists for line in read_lines(path)]
    files = FileList(os.path.join(dataset_dir, "images"))
    files.extend("", [os.fsencode(f"{name}.jpg") for name in names])
    labels = np.array([name.split("/")[0] for name in names])
    return ColumnTable(
        len(files),
        {"image": image_column(files, decode, listed=" or ".join(lists)), "label": InMemoryColumn(labels)},
    )

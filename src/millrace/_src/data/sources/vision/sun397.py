"""``SUN397Dataset``: SUN397 scene classification."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files, read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["SUN397Dataset"]


@public("dataset")
class SUN397Dataset(TableDataset):
    """Scenes of 397 classes, numbered in the order of ``ClassName.txt``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("a/abbey").mkdir(parents=True)
    >>> _ = Path("a/abbey/sun_a.jpg").write_bytes(b"...")
    >>> _ = Path("ClassName.txt").write_text("/a/abbey")
    >>> [row["label"].item() for row in ds.SUN397Dataset(".").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[ImageOptions]) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, decode=decode)
        self._open(make, {"image": image_type(decode), "label": UINT32}, shared)


def _table(dataset_dir: str, decode: bool | None) -> ColumnTable:
    files, labels = FileList(dataset_dir), []
    path = os.path.join(dataset_dir, "ClassName.txt")
    for number, line in enumerate(read_lines(path)):
        folder = line.strip().lstrip("/")
        if not os.path.isdir(os.path.join(dataset_dir, folder)):
            text = f"Invalid data, line {number + 1}: {line.strip()!r} is not a folder of {dataset_dir}"
            raise FormatError(text, file=path)
        names = [n for n in list_files(os.path.join(dataset_dir, folder), [".jpg"]) if n.startswith(b"sun_")]
        labels += [number] * files.extend(folder, names)
    return ColumnTable(
        len(files),
        {"image": image_column(files, decode), "label": InMemoryColumn(np.array(labels, np.uint32))},
    )

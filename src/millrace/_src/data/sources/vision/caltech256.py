"""Caltech256Dataset: objects of 257 kinds."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from millrace._src.data.formats.column_readers import Stored
from millrace._src.data.sources.base.common_arguments import PictureOptions, takes
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    Folder,
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

    @takes(PictureOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[PictureOptions]) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, decode=decode)
        self._open(make, {"image": image(decode), "label": INT32}, shared)


def _table(dataset_dir: str, decode: bool | None) -> Table:
    files, labels, numbers = class_folders(dataset_dir, [".jpg", ".JPEG"])
    parts = {"image": pictures(files, decode), "label": Stored(labels)}
    return Table(len(files), parts, num_classes=len(numbers))

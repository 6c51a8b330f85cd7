"""``Caltech256Dataset``: Caltech-256 object classification."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    ColumnTable,
    Folder,
    TableDataset,
    class_folders,
    image_column,
    image_type,
)

__all__ = ["Caltech256Dataset"]


@public("dataset")
class Caltech256Dataset(TableDataset):
    """Caltech-256: objects of 256 classes and clutter, in one folder per class: ``001.ak47/001_0001.jpg``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("objects/001.ak47").mkdir(parents=True)
    >>> _ = Path("objects/001.ak47/001_0001.jpg").write_bytes(b"...")
    >>> [row["label"].item() for row in ds.Caltech256Dataset("objects").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[ImageOptions]) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, decode=decode)
        self._open(make, {"image": image_type(decode), "label": INT32}, shared)


def _table(dataset_dir: str, decode: bool | None) -> ColumnTable:
    files, labels, numbers = class_folders(dataset_dir, [".jpg", ".JPEG"])
    parts = {"image": image_column(files, decode), "label": InMemoryColumn(labels)}
    return ColumnTable(len(files), parts, num_classes=len(numbers))

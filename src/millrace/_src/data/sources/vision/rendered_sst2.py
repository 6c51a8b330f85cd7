"""``RenderedSST2Dataset``: sentiment classification of rendered sentences."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["RenderedSST2Dataset"]


@public("dataset")
class RenderedSST2Dataset(TableDataset):
    """Rendered sentences of film reviews, negative (0) or positive (1).

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("train/positive").mkdir(parents=True), Path("train/negative").mkdir(parents=True)
    (None, None)
    >>> _ = Path("train/positive/1.png").write_bytes(b"...")
    >>> [
    ...     row["label"].item()
    ...     for row in ds.RenderedSST2Dataset(".", "train").create_dict_iterator(num_epochs=1)
    ... ]
    [1]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["val", "all", "train", "test"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all", decode=decode)
        self._open(make, {"image": image_type(decode), "label": UINT32}, shared)


def _table(dataset_dir: str, usage: str, decode: bool | None) -> ColumnTable:
    files, labels = FileList(dataset_dir), []
    for part in {"all": ["test", "train", "valid"], "val": ["valid"]}.get(usage, [usage]):
        for number, mood in enumerate(("negative", "positive")):
            folder = os.path.join(part, mood)
            labels += [number] * files.extend(folder, list_files(os.path.join(dataset_dir, folder), [".png"]))
    parts = {"image": image_column(files, decode), "label": InMemoryColumn(np.array(labels, np.uint32))}
    return ColumnTable(len(files), parts, num_classes=2)

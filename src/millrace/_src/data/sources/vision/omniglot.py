"""``OmniglotDataset``: Omniglot handwritten characters."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_directories, list_files
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["OmniglotDataset"]


@public("dataset")
class OmniglotDataset(TableDataset):
    """Handwritten characters of fifty alphabets: ``images_background/Latin/character01/0001_01.png``.

    ``background`` selects the background alphabets (training) or the evaluation alphabets.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("images_background/Latin/character01").mkdir(parents=True)
    >>> _ = Path("images_background/Latin/character01/0001_01.png").write_bytes(b"...")
    >>> [row["label"].item() for row in ds.OmniglotDataset(".").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self, dataset_dir: Folder, background: bool | None = None, *_: Any, **shared: Unpack[ImageOptions]
    ) -> None:
        decode = shared["decode"]
        background = True if background is None else background
        make = partial(_table, dataset_dir=dataset_dir, background=background, decode=decode)
        self._open(make, {"image": image_type(decode), "label": INT32}, shared)


def _table(dataset_dir: str, background: bool, decode: bool | None) -> ColumnTable:
    files = FileList(os.path.join(dataset_dir, "images_background" if background else "images_evaluation"))
    labels: list[int] = []
    characters = [
        os.path.join(alphabet, character)
        for alphabet in list_directories(files.root)
        for character in list_directories(os.path.join(files.root, alphabet))
    ]
    for number, folder in enumerate(characters):
        labels += [number] * files.extend(folder, list_files(os.path.join(files.root, folder)))
    parts = {"image": image_column(files, decode), "label": InMemoryColumn(np.array(labels, np.int32))}
    return ColumnTable(len(files), parts, num_classes=len(characters))

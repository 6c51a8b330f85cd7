"""``IMDBDataset``: IMDb movie review sentiment."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import PlanError
from millrace._src.core.progress_bar import progress
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import SHOW_AFTER, FileList, list_files
from millrace._src.data.formats.text.text_files import FileTexts
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import TrainTest
from millrace._src.data.sources.base.table_dataset import INT32, TEXT, ColumnTable, Folder, TableDataset

__all__ = ["IMDBDataset"]


@public("dataset")
class IMDBDataset(TableDataset):
    """IMDb, from ``train/pos``, ``train/neg``, ``test/pos`` and ``test/neg``: ``text`` and ``label``, 1 for pos.

    >>> from pathlib import Path
    >>> for mood in ("pos", "neg"):
    ...     Path("test", mood).mkdir(parents=True, exist_ok=True)
    ...     _ = Path("test", mood, "0_9.txt").write_text(f"a {mood} film")
    >>> data = IMDBDataset(".", usage="test", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['a pos film', 'a neg film']
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self, dataset_dir: Folder, usage: TrainTest = None, *_: Any, **shared: Unpack[RowOptions]
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        columns = {"text": TEXT, "label": INT32}
        self._open(make, columns, shared)


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    files, labels = FileList(dataset_dir), []
    with progress(f"listing {dataset_dir}", after=SHOW_AFTER) as shown:
        for part in ("train", "test") if usage == "all" else (usage,):
            for label, mood in ((1, "pos"), (0, "neg")):
                folder = os.path.join(dataset_dir, part, mood)
                if not os.path.isdir(folder):
                    raise PlanError(
                        f"Invalid path, dataset path may not exist or is not a directory: {folder}"
                    )
                count = files.extend(os.path.join(part, mood), list_files(folder, [".txt"], shown))
                labels.append(np.full(count, label, np.int32))
    return ColumnTable(
        len(files), {"text": FileTexts(files), "label": InMemoryColumn(np.concatenate(labels))}
    )

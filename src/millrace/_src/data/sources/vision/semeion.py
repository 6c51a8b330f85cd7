"""``SemeionDataset``: Semeion handwritten digits."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import read_lines
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
)

__all__ = ["SemeionDataset"]


@public("dataset")
class SemeionDataset(TableDataset):
    """Handwritten digits of 16 x 16 dots, 0 or 1, from ``semeion.data``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("semeion.data").write_text("1.0000 " * 256 + "0 0 0 1 0 0 0 0 0 0")
    >>> [row["label"].item() for row in ds.SemeionDataset(".").create_dict_iterator(num_epochs=1)]
    [3]
    """

    @with_common_arguments(RowOptions)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[RowOptions]) -> None:
        make = partial(_table, dataset_dir=dataset_dir)
        self._open(make, {"image": column_type("uint8", 16, 16), "label": UINT32}, shared)


def _table(dataset_dir: str) -> ColumnTable:
    path = os.path.join(dataset_dir, "semeion.data")
    texts = [line.split() for line in read_lines(path)]
    wrong = next((number for number, text in enumerate(texts, 1) if len(text) != 266), None)
    if wrong is not None:
        text = f"Invalid data, row {wrong} has {len(texts[wrong - 1])} numbers, not 256 dots and 10 marks"
        raise FormatError(text, file=path)
    try:
        rows = np.array(texts, np.float32)
    except ValueError as error:
        raise FormatError(
            f"Invalid data, a row does not have 256 dots and 10 marks: {error}", file=path
        ) from error
    images = rows[:, :256].astype(np.uint8).reshape(-1, 16, 16)
    return ColumnTable(
        len(rows),
        {
            "image": InMemoryColumn(images),
            "label": InMemoryColumn(rows[:, 256:].argmax(axis=1).astype(np.uint32)),
        },
    )

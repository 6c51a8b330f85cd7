"""``USPSDataset``: USPS handwritten digits."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import read_lines
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
)

__all__ = ["USPSDataset"]


@public("dataset")
class USPSDataset(TableDataset):
    """Handwritten digits of 16 x 16 from envelopes, from the text files ``usps`` (train) and ``usps.t`` (test).

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("usps.t").write_text("4 " + " ".join(f"{i}:-1" for i in range(1, 257)))
    >>> [row["label"].item() for row in ds.USPSDataset(".", "test").create_dict_iterator(num_epochs=1)]
    [3]
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "all"] | None = None,
        *_: Any,
        **shared: Unpack[TextOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        shared["shuffle"] = shared["shuffle"] not in (False, Shuffle.FALSE)
        self._open(make, {"image": column_type("uint8", 16, 16, 1), "label": UINT32}, shared)


_FILES = {"train": ["usps"], "test": ["usps.t"], "all": ["usps", "usps.t"]}


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    files = [_read(os.path.join(dataset_dir, name)) for name in _FILES[usage]]
    # a row of each file in turn, as MindSpore reads them
    order = np.argsort(np.concatenate([np.arange(len(labels)) for _, labels in files]), kind="stable")
    images, labels = (np.concatenate(parts)[order] for parts in zip(*files))
    return ColumnTable(len(labels), {"image": InMemoryColumn(images), "label": InMemoryColumn(labels)})


def _read(path: str) -> Any:
    images, labels = [], []
    for number, line in enumerate(read_lines(path), 1):
        try:
            label, *values = line.split()
            labels.append(int(label) - 1)
            if len(values) != 256 or not 0 <= labels[-1] < 10:
                raise ValueError(f"the label {label} and {len(values)} values")
            images.append([float(value.partition(":")[2]) for value in values])
        except ValueError as error:
            text = f"Invalid data, row {number} does not have a label from 1 to 10 and 256 dots: {error}"
            raise FormatError(text, file=path) from error
    dots = np.array(images, np.float32).reshape(-1, 16, 16, 1).astype(np.float64)
    return ((dots + 1) / 2 * 255).astype(np.uint8), np.array(labels, np.uint32)

"""``Places365Dataset``: Places365 scene classification."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["Places365Dataset"]


@public("dataset")
class Places365Dataset(TableDataset):
    """Scenes of 365 classes, from the lists of Places365; ``small`` selects the images of 256 x 256.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("val_256").mkdir()
    >>> _ = Path("val_256/1.jpg").write_bytes(b"...")
    >>> _ = Path("places365_val.txt").write_text("1.jpg 165")
    >>> [row["label"].item() for row in ds.Places365Dataset(".", "val").create_dict_iterator(num_epochs=1)]
    [165]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train-standard", "train-challenge", "val"] | None = None,
        small: bool | None = True,
        decode: bool | None = False,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        usage = usage or "train-standard"
        make = partial(_table, dataset_dir=dataset_dir, usage=usage, small=bool(small), decode=decode)
        self._open(make, {"image": image_type(decode), "label": UINT32}, {**shared, "decode": decode})


def _table(dataset_dir: str, usage: str, small: bool, decode: bool | None) -> ColumnTable:
    path = os.path.join(dataset_dir, f"places365_{usage.replace('-', '_')}.txt")
    size = "256" if small else "large"
    folder = f"val_{size}" if usage == "val" else f"data_{size}_{usage.removeprefix('train-')}"
    try:
        rows = [(line.split()[0].lstrip("/"), int(line.split()[1])) for line in read_lines(path)]
    except (ValueError, IndexError) as error:
        raise FormatError(f"Invalid data, not 'file number': {error}", file=path) from error
    files = FileList(os.path.join(dataset_dir, folder))
    files.extend("", [os.fsencode(name) for name, _ in rows])
    labels = np.array([number for _, number in rows], np.uint32)
    return ColumnTable(
        len(files), {"image": image_column(files, decode, listed=path), "label": InMemoryColumn(labels)}
    )

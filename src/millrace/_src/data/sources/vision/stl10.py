"""``STL10Dataset``: STL-10 image classification, labeled and unlabeled."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn, LazyArrayColumn, map_file
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    ColumnTable,
    Folder,
    TableDataset,
    check_readable,
    column_type,
)

__all__ = ["STL10Dataset"]


@public("dataset")
class STL10Dataset(TableDataset):
    """Images of 96 x 96 in ten classes, memory-mapped; the label of unlabeled images is -1.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("train_X.bin").write_bytes(bytes(3 * 96 * 96))
    >>> _ = Path("train_y.bin").write_bytes(bytes([10]))
    >>> [row["label"].item() for row in ds.STL10Dataset(".", "train").create_dict_iterator(num_epochs=1)]
    [9]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "unlabeled", "train+unlabeled", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        for part in _PARTS[usage] if usage else ():
            for end in ("X", "y") if part != "unlabeled" else ("X",):
                check_readable(os.path.join(dataset_dir, f"{part}_{end}.bin"))
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        self._open(make, {"image": column_type("uint8", 96, 96, 3), "label": INT32}, shared)


_PARTS = {name: [name] for name in ("train", "test", "unlabeled")}
_PARTS |= {"train+unlabeled": ["train", "unlabeled"], "all": ["test", "train", "unlabeled"]}


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    paths = [os.path.join(dataset_dir, f"{part}_X.bin") for part in _PARTS[usage]]
    loads = [partial(map_file, path, (3, 96, 96)) for path in paths]
    sizes = [len(load()) for load in loads]
    labels = []
    for part, path, size in zip(_PARTS[usage], paths, sizes):
        if part == "unlabeled":
            labels.append(np.full(size, -1, np.int32))
        else:
            label_path = path.removesuffix("_X.bin") + "_y.bin"
            labels.append(map_file(label_path, ()).astype(np.int32) - 1)
            if len(labels[-1]) != size:
                text = f"Invalid data, {len(labels[-1])} labels for the {size} images of {path}"
                raise FormatError(text, file=label_path)
    image = LazyArrayColumn(loads, paths, np.cumsum(sizes).tolist(), _upright)
    return ColumnTable(sum(sizes), {"image": image, "label": InMemoryColumn(np.concatenate(labels))})


def _upright(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Transpose (channel, column, row) to (row, column, channel)."""
    return rows.transpose(0, 3, 2, 1)

"""``Cifar10Dataset``: CIFAR-10 image classification, binary or Python version."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Unpack

from millrace._src.core.public import public
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
)
from millrace._src.data.sources.vision.cifar_files import cifar_table

__all__ = ["Cifar10Dataset"]


@public("dataset")
class Cifar10Dataset(TableDataset):
    """Images of 32 x 32 in ten classes, from the binary version of CIFAR-10, memory-mapped.

    Without ``.bin`` files, the files of the Python version are read; no code of their pickles is executed.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("test_batch.bin").write_bytes(bytes([3]) + bytes(3072) + bytes([8]) + bytes(3072))
    >>> data = ds.Cifar10Dataset(".", "test", shuffle=False)
    >>> [(row["image"].shape, row["label"].item()) for row in data.create_dict_iterator(num_epochs=1)]
    [((32, 32, 3), 3), ((32, 32, 3), 8)]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all")
        self._open(make, {"image": column_type("uint8", 32, 32, 3), "label": UINT32}, shared)


_TRAIN = [f"data_batch_{number}" for number in range(1, 6)]
_FILES = {"train": _TRAIN, "test": ["test_batch"], "all": [*_TRAIN, "test_batch"]}


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    return cifar_table(dataset_dir, _FILES[usage], {"label": "labels"})

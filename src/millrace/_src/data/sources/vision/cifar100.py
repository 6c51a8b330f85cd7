"""``Cifar100Dataset``: CIFAR-100 image classification, binary or Python version."""

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

__all__ = ["Cifar100Dataset"]


@public("dataset")
class Cifar100Dataset(TableDataset):
    """Images of 32 x 32 in 100 classes and 20 superclasses, from the binary version of CIFAR-100.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("test.bin").write_bytes(bytes([3, 31]) + bytes(3072))
    >>> data = ds.Cifar100Dataset(".", "test")
    >>> [
    ...     (row["coarse_label"].item(), row["fine_label"].item())
    ...     for row in data.create_dict_iterator(num_epochs=1)
    ... ]
    [(3, 31)]
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
        self._open(
            make,
            {"image": column_type("uint8", 32, 32, 3), "coarse_label": UINT32, "fine_label": UINT32},
            shared,
        )


_FILES = {"train": ["train"], "test": ["test"], "all": ["test", "train"]}


def _table(dataset_dir: str, usage: str) -> ColumnTable:
    labels = {"coarse_label": "coarse_labels", "fine_label": "fine_labels"}
    return cifar_table(dataset_dir, _FILES[usage], labels)

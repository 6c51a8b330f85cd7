"""``QMnistDataset``: QMNIST handwritten digits with full NIST records."""

from __future__ import annotations

import os
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
from millrace._src.data.sources.vision.idx_images import IDX_COLUMNS, idx_table

__all__ = ["QMnistDataset"]


@public("dataset")
class QMnistDataset(TableDataset):
    """The digits of MNIST rebuilt from NIST's, with 50,000 more for testing.

    With ``compat`` the label is the digit; without it the label has all eight numbers of the NIST record.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> head = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28])
    >>> _ = Path("qmnist-train-images-idx3-ubyte").write_bytes(head + bytes(784))
    >>> labels = bytes([0, 0, 12, 2, 0, 0, 0, 1, 0, 0, 0, 8]) + bytes([0, 0, 0, 5]) * 8
    >>> _ = Path("qmnist-train-labels-idx2-int").write_bytes(labels)
    >>> data = ds.QMnistDataset(".", "train", compat=False)
    >>> [row["label"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [[5, 5, 5, 5, 5, 5, 5, 5]]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "test10k", "test50k", "nist", "all"] | None = None,
        compat: bool | None = True,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all", compat=bool(compat))
        self._open(
            make,
            {"image": IDX_COLUMNS["image"], "label": UINT32 if compat else column_type("uint32", 8)},
            shared,
        )


_PARTS = {"train": ["qmnist-train"], "nist": ["xnist"], "all": ["qmnist-train", "qmnist-test", "xnist"]}
_FIRST = 10_000  # test digits that are also in MNIST


def _table(dataset_dir: str, usage: str, compat: bool) -> ColumnTable:
    parts = _PARTS.get(usage, ["qmnist-test"])
    pairs = [
        (
            os.path.join(dataset_dir, f"{part}-images-idx3-ubyte"),
            os.path.join(dataset_dir, f"{part}-labels-idx2-int"),
        )
        for part in parts
    ]
    keep = {"test10k": slice(0, _FIRST), "test50k": slice(_FIRST, None)}.get(usage, slice(None))
    return idx_table(pairs, rank=2, pick=0 if compat else None, keep=keep)

"""``EMnistDataset``: EMNIST handwritten letters and digits."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

from millrace._src.core.public import public
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import ColumnTable, Folder, TableDataset
from millrace._src.data.sources.vision.idx_images import IDX_COLUMNS, idx_table

__all__ = ["EMnistDataset"]


@public("dataset")
class EMnistDataset(TableDataset):
    """Handwritten letters and digits, 28 x 28; ``name`` selects one of the six splits of EMNIST.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> head = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28])
    >>> _ = Path("emnist-letters-test-images-idx3-ubyte").write_bytes(head + bytes(784))
    >>> _ = Path("emnist-letters-test-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 1, 26]))
    >>> [row["label"].item() for row in ds.EMnistDataset(".", "letters").create_dict_iterator(num_epochs=1)]
    [26]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        name: Literal["byclass", "bymerge", "balanced", "letters", "digits", "mnist"],
        usage: Literal["train", "test", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, name=name, usage=usage or "all")
        self._open(make, IDX_COLUMNS, shared)


def _table(dataset_dir: str, name: str, usage: str) -> ColumnTable:
    wanted = ("test", "train") if usage == "all" else (usage,)
    start = os.path.join(dataset_dir, f"emnist-{name}-")
    pairs = [(f"{start}{part}-images-idx3-ubyte", f"{start}{part}-labels-idx1-ubyte") for part in wanted]
    return idx_table(pairs, must=usage != "all")

"""``KMnistDataset``: KMNIST cursive Japanese characters."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Unpack

from millrace._src.core.public import public
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import Folder, TableDataset
from millrace._src.data.sources.vision.idx_images import IDX_COLUMNS, mnist_table

__all__ = ["KMnistDataset"]


@public("dataset")
class KMnistDataset(TableDataset):
    """Cursive Japanese characters, 28 x 28, in the four IDX files of KMNIST.

    Files are memory-mapped. ``usage`` is "train", "test" or "all" (the default).

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> head = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28])
    >>> _ = Path("t10k-images-idx3-ubyte").write_bytes(head + bytes(2 * 784))
    >>> _ = Path("t10k-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 3]))
    >>> data = ds.KMnistDataset(".", usage="test", shuffle=False)
    >>> [(row["image"].shape, row["label"].item()) for row in data.create_dict_iterator(num_epochs=1)]
    [((28, 28, 1), 7), ((28, 28, 1), 3)]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "all"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(mnist_table, dataset_dir=dataset_dir, usage=usage or "all")
        self._open(make, IDX_COLUMNS, shared)

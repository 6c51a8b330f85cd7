"""``SST2Dataset``: Stanford Sentiment Treebank, binary."""

from __future__ import annotations

import os
from typing import Any, Literal, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.csv.records import CsvFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, texts
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["SST2Dataset"]


@public("dataset")
class SST2Dataset(IndexedFilesDataset):
    """SST-2, from ``train.tsv``, ``dev.tsv`` or ``test.tsv``.

    Columns ``sentence`` and ``label``, or ``sentence`` alone for test.

    >>> with open("dev.tsv", "w") as file:
    ...     _ = file.write("sentence\\tlabel\\na charming journey . \\t1\\n")
    >>> data = SST2Dataset(".", usage="dev", shuffle=False)
    >>> [row["label"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['1']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "dev"] | None = None,
        *_: Any,
        **shared: Unpack[TextOptions],
    ) -> None:
        columns: list[str | None] = [None, "sentence"] if usage == "test" else ["sentence", "label"]
        form = CsvFormat(columns, [str, str], delimiter="\t", skip=1)
        files = [os.path.join(dataset_dir, f"{usage or 'train'}.tsv")]
        self._open_each(files, form, texts(*filter(None, columns)), locals(), shared)

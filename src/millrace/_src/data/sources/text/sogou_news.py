"""``SogouNewsDataset``: Sogou News topic classification."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.csv.records import CsvFormat
from millrace._src.data.sources.base.common_arguments import CorpusOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import (
    IndexedFilesDataset,
    TrainTest,
    files_for_usage,
    texts,
)
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["SogouNewsDataset"]


@public("dataset")
class SogouNewsDataset(IndexedFilesDataset):
    """Sogou News, from ``train.csv`` and ``test.csv``.

    The columns are ``index``, ``title``, ``content``, all text.

    >>> with open("train.csv", "w") as file:
    ...     _ = file.write('"4","di er jie","shou ji"\\n')
    >>> data = SogouNewsDataset(".", usage="train", shuffle=False)
    >>> [row["content"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['shou ji']
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainTest = None, *_: Any, **shared: Unpack[CorpusOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, {"train": "train.csv", "test": "test.csv"})
        self._open_each(
            files,
            CsvFormat(["index", "title", "content"], [str] * 3),
            texts("index", "title", "content"),
            locals(),
            shared,
        )

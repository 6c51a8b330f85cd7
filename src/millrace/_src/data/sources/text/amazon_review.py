"""``AmazonReviewDataset``: Amazon review polarity and full."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.csv.records import CsvFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import (
    IndexedFilesDataset,
    TrainTest,
    files_for_usage,
    texts,
)
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["AmazonReviewDataset"]


@public("dataset")
class AmazonReviewDataset(IndexedFilesDataset):
    """Amazon Review Polarity or Full, from ``train.csv`` and ``test.csv``.

    The columns are ``label``, ``title``, ``content``, all text.

    >>> with open("train.csv", "w") as file:
    ...     _ = file.write('"2","Great CD","My lovely Pat"\\n')
    >>> data = AmazonReviewDataset(".", usage="train", shuffle=False)
    >>> [row["title"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Great CD']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainTest = None, *_: Any, **shared: Unpack[TextOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, {"test": "test.csv", "train": "train.csv"})
        self._open_each(
            files,
            CsvFormat(["label", "title", "content"], [str] * 3),
            texts("label", "title", "content"),
            locals(),
            shared,
        )

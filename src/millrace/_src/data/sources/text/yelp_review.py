"""``YelpReviewDataset``: Yelp review polarity and full."""

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

__all__ = ["YelpReviewDataset"]

COLUMNS = ["label", "text"]


@public("dataset")
class YelpReviewDataset(IndexedFilesDataset):
    """Yelp Review Polarity or Full, from ``train.csv`` and ``test.csv``.

    The columns are ``label``, ``text``, all text.

    >>> with open("train.csv", "w") as file:
    ...     _ = file.write('"1","Unfortunately, no"\\n')
    >>> data = YelpReviewDataset(".", usage="train", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['Unfortunately, no']
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainTest = None, *_: Any, **shared: Unpack[CorpusOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, {"train": "train.csv", "test": "test.csv"})
        self._open_each(files, CsvFormat(COLUMNS, [str] * len(COLUMNS)), texts(*COLUMNS), locals(), shared)

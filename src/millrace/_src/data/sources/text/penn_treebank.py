"""``PennTreebankDataset``: Penn Treebank language modeling."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.lines import LineFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import (
    IndexedFilesDataset,
    TrainValidTest,
    files_for_usage,
    texts,
)
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["PennTreebankDataset"]

FILES = {"test": "ptb.test.txt", "train": "ptb.train.txt", "valid": "ptb.valid.txt"}


@public("dataset")
class PennTreebankDataset(IndexedFilesDataset):
    """Penn Treebank, from ``ptb.train.txt``, ``ptb.valid.txt`` and ``ptb.test.txt``.

    Each line is a row of column ``text``; empty lines are skipped.

    >>> with open("ptb.train.txt", "w") as file:
    ...     _ = file.write("no it was n't black monday\\n")
    >>> data = PennTreebankDataset(".", usage="train", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ["no it was n't black monday"]
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainValidTest = None, *_: Any, **shared: Unpack[TextOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, FILES)
        self._open_each(files, LineFormat("text"), texts("text"), locals(), shared)

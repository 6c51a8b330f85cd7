"""``WikiTextDataset``: WikiText-2 and WikiText-103 language modeling."""

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

__all__ = ["WikiTextDataset"]

FILES = {"test": "wiki.test.tokens", "train": "wiki.train.tokens", "valid": "wiki.valid.tokens"}


@public("dataset")
class WikiTextDataset(IndexedFilesDataset):
    """WikiText2 or WikiText103, from ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``.

    Each line is a row of column ``text``; empty lines are skipped.

    >>> with open("wiki.train.tokens", "w") as file:
    ...     _ = file.write(" = Valkyria Chronicles III = \\n")
    >>> data = WikiTextDataset(".", usage="train", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [' = Valkyria Chronicles III = ']
    """

    @with_common_arguments(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainValidTest = None, *_: Any, **shared: Unpack[TextOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, FILES)
        self._open_each(files, LineFormat("text"), texts("text"), locals(), shared)

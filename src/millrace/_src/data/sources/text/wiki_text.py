"""WikiTextDataset: lines of Wikipedia articles."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.lines import Lines
from millrace._src.data.sources.base.common_arguments import TextOptions, takes
from millrace._src.data.sources.base.indexed_files import FilesDataset, TrainValidTest, by_usage, texts
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["WikiTextDataset"]

FILES = {"test": "wiki.test.tokens", "train": "wiki.train.tokens", "valid": "wiki.valid.tokens"}


class WikiTextDataset(FilesDataset):
    """WikiText2 or WikiText103, from ``wiki.train.tokens``, ``wiki.valid.tokens`` and ``wiki.test.tokens``.

    Each line is a row of column ``text``; empty lines are left out.

    >>> with open("wiki.train.tokens", "w") as file:
    ...     _ = file.write(" = Valkyria Chronicles III = \\n")
    >>> data = WikiTextDataset(".", usage="train", shuffle=False)
    >>> [row["text"].item() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [' = Valkyria Chronicles III = ']
    """

    @takes(TextOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainValidTest = None, *_: Any, **shared: Unpack[TextOptions]
    ) -> None:
        files = by_usage(dataset_dir, usage, FILES)
        self._open_each(files, Lines("text"), texts("text"), locals(), shared)

"""``CoNLL2000Dataset``: CoNLL-2000 chunking."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.lines import BlankLineSeparatedFormat
from millrace._src.data.sources.base.common_arguments import CorpusOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import (
    IndexedFilesDataset,
    TrainTest,
    files_for_usage,
    texts,
)
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["CoNLL2000Dataset"]

FILES = {"test": "test.txt", "train": "train.txt"}
COLUMNS = ["word", "pos_tag", "chunk_tag"]


@public("dataset")
class CoNLL2000Dataset(IndexedFilesDataset):
    """CoNLL-2000, from ``train.txt`` and ``test.txt``.

    A row is a sentence, its columns ``word``, ``pos_tag``, ``chunk_tag`` have a text per word.

    >>> with open("train.txt", "w") as file:
    ...     _ = file.write("Confidence NN B-NP\\nin IN B-PP\\n\\n")
    >>> data = CoNLL2000Dataset(".", usage="train", shuffle=False)
    >>> [row["pos_tag"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [['NN', 'IN']]
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainTest = None, *_: Any, **shared: Unpack[CorpusOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, FILES)
        self._open_each(
            files, BlankLineSeparatedFormat(COLUMNS, " "), texts(*COLUMNS, shape=(None,)), locals(), shared
        )

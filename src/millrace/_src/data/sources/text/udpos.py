"""``UDPOSDataset``: Universal Dependencies part-of-speech tagging."""

from __future__ import annotations

from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.formats.text.lines import BlankLineSeparatedFormat
from millrace._src.data.sources.base.common_arguments import CorpusOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import (
    IndexedFilesDataset,
    TrainValidTest,
    files_for_usage,
    texts,
)
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["UDPOSDataset"]

FILES = {
    "valid": "en-ud-tag.v2.dev.txt",
    "test": "en-ud-tag.v2.test.txt",
    "train": "en-ud-tag.v2.train.txt",
}
COLUMNS = ["word", "universal", "stanford"]


@public("dataset")
class UDPOSDataset(IndexedFilesDataset):
    """UDPOS, from ``en-ud-tag.v2.train.txt`` and the files for dev and test.

    A row is a sentence, its columns ``word``, ``universal``, ``stanford`` have a text per word.

    >>> with open("en-ud-tag.v2.train.txt", "w") as file:
    ...     _ = file.write("Al\\tPROPN\\tNNP\\n-\\tPUNCT\\tHYPH\\n\\n")
    >>> data = UDPOSDataset(".", usage="train", shuffle=False)
    >>> [row["universal"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [['PROPN', 'PUNCT']]
    """

    @with_common_arguments(CorpusOptions, shuffle=Shuffle.GLOBAL)
    def __init__(
        self, dataset_dir: Folder, usage: TrainValidTest = None, *_: Any, **shared: Unpack[CorpusOptions]
    ) -> None:
        files = files_for_usage(dataset_dir, usage, FILES)
        self._open_each(
            files, BlankLineSeparatedFormat(COLUMNS, "\t"), texts(*COLUMNS, shape=(None,)), locals(), shared
        )

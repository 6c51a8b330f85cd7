"""``EnWik9Dataset``: the first 10^9 bytes of English Wikipedia."""

from __future__ import annotations

import os
from typing import Any, Unpack

from millrace._src.core.public import public
from millrace._src.data.formats.text.lines import LineFormat
from millrace._src.data.sources.base.common_arguments import TextOptions, with_common_arguments
from millrace._src.data.sources.base.indexed_files import IndexedFilesDataset, texts
from millrace._src.data.sources.base.table_dataset import Folder

__all__ = ["EnWik9Dataset"]


@public("dataset")
class EnWik9Dataset(IndexedFilesDataset):
    """EnWik9, from the file ``enwik9``: each line, empty ones too, is a row of column ``text``.

    >>> with open("enwik9", "w") as file:
    ...     _ = file.write("<mediawiki>\\n  <siteinfo>\\n")
    >>> EnWik9Dataset(".").get_dataset_size()
    2
    """

    @with_common_arguments(TextOptions, shuffle=True)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[TextOptions]) -> None:
        files = [os.path.join(dataset_dir, "enwik9")]
        self._open_each(files, LineFormat("text", keep_blank=True), texts("text"), locals(), shared)

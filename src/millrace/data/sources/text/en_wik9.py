"""EnWik9Dataset: the first billion bytes of Wikipedia."""

from __future__ import annotations

import os

from millrace.core.args import checked
from millrace.data.formats.lines import Lines
from millrace.data.sources.files import FilesDataset, Mode, texts
from millrace.data.sources.images import Cache, Folder, NumSamples, NumWorkers

__all__ = ["EnWik9Dataset"]


class EnWik9Dataset(FilesDataset):
    """EnWik9, from the file ``enwik9``: each line, empty ones too, is a row of column ``text``.

    >>> with open("enwik9", "w") as file:
    ...     _ = file.write("<mediawiki>\\n  <siteinfo>\\n")
    >>> EnWik9Dataset(".").get_dataset_size()
    2
    """

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: Mode = True,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
    ) -> None:
        files = [os.path.join(dataset_dir, "enwik9")]
        self._open_each(files, Lines("text", keep_blank=True), texts("text"), locals())

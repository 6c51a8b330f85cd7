"""WikiTextDataset: lines of Wikipedia articles."""

from __future__ import annotations

from millrace.core.args import checked
from millrace.core.shuffle import Shuffle
from millrace.data.formats.lines import Lines
from millrace.data.sources.files import FilesDataset, Mode, TrainValidTest, by_usage, texts
from millrace.data.sources.images import Cache, Folder, NumSamples, NumWorkers

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

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        usage: TrainValidTest = None,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: Mode = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
    ) -> None:
        files = by_usage(dataset_dir, usage, FILES)
        self._open_each(files, Lines("text"), texts("text"), locals())

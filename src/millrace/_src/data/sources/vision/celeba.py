"""``CelebADataset``: CelebA face attributes."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np

from millrace._src.core.args import checked
from millrace._src.core.errors import ArgumentValueError, FormatError, PlanError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.samplers import PKSampler
from millrace._src.data.sources.base.table_dataset import (
    Cache,
    ColumnTable,
    Decrypt,
    Folder,
    NumSamples,
    NumWorkers,
    TableDataset,
    column_type,
    image_column,
    image_type,
)

__all__ = ["CelebADataset"]


@public("dataset")
class CelebADataset(TableDataset):
    """Face images with 40 attributes each, from ``list_attr_celeba.txt``; ``attr`` has a 0 or 1 per attribute.

    ``usage`` other than "all" needs ``list_eval_partition.txt`` in the same folder.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("1.jpg").write_bytes(b"...")
    >>> _ = Path("list_attr_celeba.txt").write_text("1\\nBald Smiling\\n1.jpg -1 1\\n")
    >>> [
    ...     row["attr"].tolist()
    ...     for row in ds.CelebADataset(".").create_dict_iterator(num_epochs=1, output_numpy=True)
    ... ]
    [[0, 1]]
    """

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        usage: Any = "all",
        sampler: Any = None,
        decode: bool | None = False,
        extensions: list[Any] | None = None,
        num_samples: NumSamples = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
        decrypt: Decrypt = None,
    ) -> None:
        if usage not in (None, "all", "train", "valid", "test"):
            raise ArgumentValueError("usage should be 'all', 'train', 'valid' or 'test'.")
        if isinstance(sampler, PKSampler):
            raise ArgumentValueError("CelebADataset doesn't support PKSampler.")
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "usage": usage or "all",
            "extensions": extensions or [],
        }
        make = partial(_table, **arguments, decode=decode, decrypt=decrypt)
        self._open(make, {"image": image_type(decode), "attr": column_type("uint32", None)}, locals())


_PARTS = {"train": "0", "valid": "1", "test": "2"}


def _table(
    dataset_dir: str, usage: str, extensions: list[str], decode: bool | None, decrypt: Any
) -> ColumnTable:
    path = os.path.join(dataset_dir, "list_attr_celeba.txt")
    lines = read_lines(path)
    header, rows = " ".join(lines[1:2]), [line.split() for line in lines[2:]]
    if usage != "all":
        partition = os.path.join(dataset_dir, "list_eval_partition.txt")
        if not os.path.isfile(partition):
            raise PlanError(f"Partition file can not be found when usage is not 'all': {partition}")
        part = {fields[0]: fields[-1] for fields in map(str.split, read_lines(partition))}
        rows = [row for row in rows if part.get(row[0]) == _PARTS[usage]]
    rows = [row for row in rows if not extensions or row[0].endswith(tuple(extensions))]
    width = len(header.split())
    wrong = next((row for row in rows if len(row) != width + 1), None)
    if wrong is not None:
        text = f"Invalid data, {wrong[0]} has {len(wrong) - 1} attributes, but the header {width}"
        raise FormatError(text, file=path)
    files = FileList(dataset_dir)
    files.extend("", [os.fsencode(row[0]) for row in rows])
    attributes = np.array([[value == "1" for value in row[1:]] for row in rows], np.uint8)
    parts = {
        "image": image_column(files, decode, decrypt, path),
        "attr": InMemoryColumn(attributes, np.uint32),
    }
    return ColumnTable(len(files), parts)

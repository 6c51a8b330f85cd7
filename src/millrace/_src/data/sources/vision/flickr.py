"""``FlickrDataset``: Flickr8k and Flickr30k image captions."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    Folder,
    TableDataset,
    check_readable,
    column_type,
    image_column,
    image_type,
)

__all__ = ["FlickrDataset"]


@public("dataset")
class FlickrDataset(TableDataset):
    """Images of Flickr8k or Flickr30k with captions, from lines such as ``1.jpg#0<tab>A dog .``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> _ = Path("1.jpg").write_bytes(b"...")
    >>> _ = Path("tokens.txt").write_text("1.jpg#0\\tA dog .\\n1.jpg#1\\tA cat .\\n")
    >>> data = ds.FlickrDataset(".", "tokens.txt")
    >>> [row["annotation"].tolist() for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [['A dog .', 'A cat .']]
    """

    @with_common_arguments(ImageOptions)
    def __init__(
        self, dataset_dir: Folder, annotation_file: str, *_: Any, **shared: Unpack[ImageOptions]
    ) -> None:
        decode = shared["decode"]
        check_readable(annotation_file)
        make = partial(_table, dataset_dir=dataset_dir, annotation_file=annotation_file, decode=decode)
        self._open(make, {"image": image_type(decode), "annotation": column_type("str", None)}, shared)


def _table(dataset_dir: str, annotation_file: str, decode: bool | None) -> ColumnTable:
    captions: dict[bytes, list[str]] = {}
    for line in read_lines(annotation_file):
        name, tab, caption = line.partition("\t")
        stem, sharp, _ = name.rpartition("#")
        if not tab or not sharp:
            raise FormatError(
                f"Invalid annotation, not 'image#number<tab>caption': {line[:80]}", file=annotation_file
            )
        captions.setdefault(os.fsencode(stem), []).append(caption)
    files = FileList(dataset_dir)
    files.extend("", sorted(captions))
    values = [np.array(captions[name]) for name in sorted(captions)]
    return ColumnTable(
        len(files),
        {"image": image_column(files, decode, listed=annotation_file), "annotation": InMemoryColumn(values)},
    )

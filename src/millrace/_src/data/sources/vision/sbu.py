"""``SBUDataset``: SBU captioned photos."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack
from urllib.parse import urlsplit

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files, read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    TEXT,
    ColumnTable,
    Folder,
    TableDataset,
    check_readable,
    image_column,
    image_type,
)

__all__ = ["SBUDataset"]


@public("dataset")
class SBUDataset(TableDataset):
    """Flickr photographs with captions; those that were not downloaded are skipped.

    The file name of a photograph is ``m`` and the path of its address, with ``_`` for ``/``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("sbu_images").mkdir()
    >>> _ = Path("sbu_images/m_7_8.jpg").write_bytes(b"...")
    >>> _ = Path("SBU_captioned_photo_dataset_urls.txt").write_text("http://static.flickr.com/7/8.jpg")
    >>> _ = Path("SBU_captioned_photo_dataset_captions.txt").write_text("A dog .")
    >>> [
    ...     str(row["caption"])
    ...     for row in ds.SBUDataset(".").create_dict_iterator(num_epochs=1, output_numpy=True)
    ... ]
    ['A dog .']
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[ImageOptions]) -> None:
        decode = shared["decode"]
        for name in ("urls", "captions"):
            check_readable(os.path.join(dataset_dir, f"SBU_captioned_photo_dataset_{name}.txt"))
        make = partial(_table, dataset_dir=dataset_dir, decode=decode)
        self._open(make, {"image": image_type(decode), "caption": TEXT}, shared)


def _table(dataset_dir: str, decode: bool | None) -> ColumnTable:
    start = os.path.join(dataset_dir, "SBU_captioned_photo_dataset_")
    addresses, captions = (read_lines(f"{start}{name}.txt", keep_empty=True) for name in ("urls", "captions"))
    if len(addresses) != len(captions):
        text = f"Invalid data, {len(addresses)} addresses in {start}urls.txt, but {len(captions)} captions"
        raise FormatError(text, file=f"{start}captions.txt")
    files = FileList(os.path.join(dataset_dir, "sbu_images"))
    there = set(list_files(files.root))
    names = [os.fsencode("m" + urlsplit(address.strip()).path.replace("/", "_")) for address in addresses]
    kept = [number for number, name in enumerate(names) if name in there]
    files.extend("", [names[number] for number in kept])
    # as in MindSpore, only trailing spaces are removed
    texts = np.array([captions[number].rstrip(" ") for number in kept])
    return ColumnTable(len(files), {"image": image_column(files, decode), "caption": InMemoryColumn(texts)})

"""OmniglotDataset: handwritten characters of fifty alphabets."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.data.formats.column_readers import Stored
from millrace._src.data.formats.files.file_list import FileList, files_in, folders_in
from millrace._src.data.sources.base.common_arguments import PictureOptions, takes
from millrace._src.data.sources.base.table_dataset import INT32, Folder, Table, TableDataset, image, pictures

__all__ = ["OmniglotDataset"]


class OmniglotDataset(TableDataset):
    """Handwritten characters of fifty alphabets: ``images_background/Latin/character01/0001_01.png``.

    ``background`` chooses between the alphabets to learn from and those to be tested on.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("images_background/Latin/character01").mkdir(parents=True)
    >>> _ = Path("images_background/Latin/character01/0001_01.png").write_bytes(b"...")
    >>> [row["label"].item() for row in ds.OmniglotDataset(".").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @takes(PictureOptions, decode=False)
    def __init__(
        self, dataset_dir: Folder, background: bool | None = None, *_: Any, **shared: Unpack[PictureOptions]
    ) -> None:
        decode = shared["decode"]
        background = True if background is None else background
        make = partial(_table, dataset_dir=dataset_dir, background=background, decode=decode)
        self._open(make, {"image": image(decode), "label": INT32}, shared)


def _table(dataset_dir: str, background: bool, decode: bool | None) -> Table:
    files = FileList(os.path.join(dataset_dir, "images_background" if background else "images_evaluation"))
    labels: list[int] = []
    characters = [
        os.path.join(alphabet, character)
        for alphabet in folders_in(files.root)
        for character in folders_in(os.path.join(files.root, alphabet))
    ]
    for number, folder in enumerate(characters):
        labels += [number] * files.extend(folder, files_in(os.path.join(files.root, folder)))
    parts = {"image": pictures(files, decode), "label": Stored(np.array(labels, np.int32))}
    return Table(len(files), parts, num_classes=len(characters))

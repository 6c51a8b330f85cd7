"""``LSUNDataset``: LSUN scene classification."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.args import OneOf, check_type
from millrace._src.core.errors import PlanError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["LSUNDataset"]


@public("dataset")
class LSUNDataset(TableDataset):
    """Scenes of ten classes, in the folders ``bedroom_train``, ``bedroom_val`` and so on, numbered by folder name.

    Without ``classes``, all existing folders are read; folders of requested classes must exist.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("tower_train").mkdir()
    >>> _ = Path("tower_train/1.jpg").write_bytes(b"...")
    >>> data = ds.LSUNDataset(".", "train", classes=["tower"])
    >>> [row["label"].item() for row in data.create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        classes: list[Any] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        for name in classes or ():
            check_type(name, (str,), "classes")
            OneOf(*SCENES).check("classes", name)
        make = partial(
            _table, dataset_dir=dataset_dir, usage=usage or "all", classes=classes or [], decode=decode
        )
        self._open(make, {"image": image_type(decode), "label": UINT32}, shared)


SCENES = ["bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen"]
SCENES += ["living_room", "restaurant", "tower"]


def _table(dataset_dir: str, usage: str, classes: list[str], decode: bool | None) -> ColumnTable:
    ends = {"train": ["train"], "valid": ["val"], "all": ["train", "val"], "test": []}[usage]
    named = sorted(f"{scene}_{end}" for scene in classes or SCENES for end in ends) or ["test"]
    folders = [name for name in named if classes or os.path.isdir(os.path.join(dataset_dir, name))]
    if not folders:
        raise PlanError(
            "Invalid data, LSUNDataset API can't read the data file (interface mismatch or no data found). "
            f"{dataset_dir} has none of the folders {', '.join(named)}"
        )
    files, labels = FileList(dataset_dir), []
    for number, folder in enumerate(folders):
        labels += [number] * files.extend(folder, list_files(os.path.join(dataset_dir, folder)))
    parts = {"image": image_column(files, decode), "label": InMemoryColumn(np.array(labels, np.uint32))}
    scenes = {folder.rpartition("_")[0] for folder in folders}
    return ColumnTable(len(files), parts, num_classes=len(scenes))

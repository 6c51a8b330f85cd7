"""``CityscapesDataset``: Cityscapes street-scene segmentation."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.args import OneOf
from millrace._src.core.public import public
from millrace._src.data.formats.annotations import read_json
from millrace._src.data.formats.column_readers import ComputedColumn
from millrace._src.data.formats.files.file_list import FileList, list_directories, list_files
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    TEXT,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["CityscapesDataset"]


@public("dataset")
class CityscapesDataset(TableDataset):
    """Street scenes with the target of ``task``: "instance", "semantic" or "color" images, or "polygon" JSON.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> for folder in ("leftImg8bit/train/ulm", "gtFine/train/ulm"):
    ...     Path(folder).mkdir(parents=True)
    >>> _ = Path("leftImg8bit/train/ulm/ulm_0_1_leftImg8bit.png").write_bytes(b"...")
    >>> _ = Path("gtFine/train/ulm/ulm_0_1_gtFine_polygons.json").write_text('{"objects": []}')
    >>> data = ds.CityscapesDataset(".", task="polygon")
    >>> [str(row["task"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    ['{"objects":[]}']
    """

    @with_common_arguments(ImageOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: str = "train",
        quality_mode: Literal["fine", "coarse"] = "fine",
        task: Literal["instance", "semantic", "polygon", "color"] = "instance",
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        OneOf("train", *(("test",) if quality_mode == "fine" else ("train_extra",)), "val", "all").check(
            "usage", usage
        )
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "usage": usage,
            "quality_mode": quality_mode,
            "task": task,
        }
        make = partial(_table, **arguments, decode=decode)
        self._open(
            make,
            {"image": image_type(decode), "task": TEXT if task == "polygon" else image_type(decode)},
            shared,
        )


_ALL = {"fine": ["train", "test", "val"], "coarse": ["train", "train_extra", "val"]}
_ENDS = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "polygon": "polygons.json",
    "color": "color.png",
}


def _table(dataset_dir: str, usage: str, quality_mode: str, task: str, decode: bool | None) -> ColumnTable:
    annotation_type = "gtFine" if quality_mode == "fine" else "gtCoarse"
    images, targets = (
        FileList(os.path.join(dataset_dir, "leftImg8bit")),
        FileList(os.path.join(dataset_dir, annotation_type)),
    )
    for part in _ALL[quality_mode] if usage == "all" else [usage]:
        for city in list_directories(os.path.join(dataset_dir, annotation_type, part)):
            end = f"_{annotation_type}_{_ENDS[task]}".encode()
            folder = os.path.join(os.fsencode(part), city)
            names = list_files(os.path.join(targets.root, folder), [os.fsdecode(end)])
            targets.extend(folder, names)
            images.extend(folder, [name.removesuffix(end) + b"_leftImg8bit.png" for name in names])
    target = (
        ComputedColumn(partial(_polygons, targets), targets)
        if task == "polygon"
        else image_column(targets, decode)
    )
    return ColumnTable(len(images), {"image": image_column(images, decode), "task": target})


def _polygons(files: FileList, index: int) -> Any:
    document = read_json(files[index], max_bytes=64 << 20)
    return np.array(json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False))

"""``VOCDataset``: Pascal VOC segmentation and detection."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    TEXT,
    ColumnTable,
    Decrypt,
    Folder,
    TableDataset,
    check_readable,
    image_column,
    image_type,
)
from millrace._src.data.sources.vision.voc_boxes import BOX_COLUMNS, read_boxes

__all__ = ["VOCDataset"]


@public("dataset")
class VOCDataset(TableDataset):
    """Pascal VOC images with segmentation ("Segmentation") or boxes ("Detection": x, y, width, height).

    ``usage`` names a list in ``ImageSets``. For detection the classes are numbered in the order of their names, or
    by ``class_indexing``; other objects, and images without remaining objects, are dropped. ``extra_metadata`` adds the
    column ``_meta-filename``: the name of the image.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> for folder in ("JPEGImages", "SegmentationClass", "ImageSets/Segmentation"):
    ...     Path(folder).mkdir(parents=True)
    >>> _ = Path("ImageSets/Segmentation/train.txt").write_text("7")
    >>> _, _ = (
    ...     Path("JPEGImages/7.jpg").write_bytes(b"..."),
    ...     Path("SegmentationClass/7.png").write_bytes(b"...."),
    ... )
    >>> [row["target"].shape for row in ds.VOCDataset(".").create_dict_iterator(num_epochs=1)]
    [(4,)]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        task: str = "Segmentation",
        usage: str = "train",
        class_indexing: dict[Any, Any] | None = None,
        *_: Any,
        extra_metadata: bool = False,
        decrypt: Decrypt = None,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        if task not in _LISTS:
            raise ArgumentValueError(f"Invalid task : {task}.")
        if task == "Segmentation" and class_indexing is not None:
            raise ArgumentValueError("class_indexing is not supported in Segmentation task.")
        check_readable(os.path.join(dataset_dir, "ImageSets", _LISTS[task], f"{usage}.txt"))
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "task": task,
            "usage": usage,
            "class_indexing": class_indexing,
        }
        make = partial(_table, **arguments, decode=decode, extra_metadata=extra_metadata, decrypt=decrypt)
        detail = BOX_COLUMNS if task == "Detection" else {"target": image_type(decode)}
        columns = (
            {"image": image_type(decode)} | detail | ({"_meta-filename": TEXT} if extra_metadata else {})
        )
        self._open(make, columns, shared)


_LISTS = {"Segmentation": "Segmentation", "Detection": "Main"}


def _table(
    dataset_dir: str,
    task: str,
    usage: str,
    class_indexing: Any,
    decode: bool | None,
    extra_metadata: bool,
    decrypt: Any,
) -> ColumnTable:
    path = os.path.join(dataset_dir, "ImageSets", _LISTS[task], f"{usage}.txt")
    names = [line.split()[0] for line in read_lines(path)]
    parts: dict[str, Any] = {}
    numbers: Any = "Only 'Detection' support get_class_indexing."
    if task == "Detection":
        names, boxes, numbers = read_boxes(
            os.path.join(dataset_dir, "Annotations"), names, class_indexing, path
        )
        parts = {column: InMemoryColumn(values) for column, values in boxes.items()}
    else:
        targets = [os.path.join(dataset_dir, "SegmentationClass", f"{name}.png") for name in names]
        parts = {"target": image_column(targets, decode, decrypt, path)}
    images = [os.path.join(dataset_dir, "JPEGImages", f"{name}.jpg") for name in names]
    parts = {"image": image_column(images, decode, decrypt, path)} | parts
    if extra_metadata:
        parts["_meta-filename"] = InMemoryColumn(np.array(names))
    return ColumnTable(len(names), parts, classes=numbers)

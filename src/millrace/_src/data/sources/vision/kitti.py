"""``KITTIDataset``: KITTI object detection."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files, read_lines
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
    image_column,
    image_type,
)

__all__ = ["KITTIDataset"]


@public("dataset")
class KITTIDataset(TableDataset):
    """Street images of the left color camera of KITTI's object benchmark, with boxes; for test only the images.

    Classes are those of the label files, numbered by name: in the original data Car, Cyclist, DontCare, Misc,
    Pedestrian, Person_sitting, Tram, Truck, Van.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> image_type, label = "data_object_image_2/training/image_2", "data_object_label_2/training/label_2"
    >>> Path(image_type).mkdir(parents=True), Path(label).mkdir(parents=True)
    (None, None)
    >>> _ = Path(image_type, "000000.png").write_bytes(b"...")
    >>> _ = Path(label, "000000.txt").write_text("Van 0 0 1.5 1 2 3 4 1.5 1.6 3.9 1 2 3 0.5")
    >>> [row["label"].item() for row in ds.KITTIDataset(".").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "train", decode=decode)
        self._open(make, {"image": image_type(decode)} | ({} if usage == "test" else _COLUMNS), shared)


# column -> (type, first field, fields)
_FIELDS = {
    "label": ("uint32", 0, 1), "truncated": ("float32", 1, 1), "occluded": ("uint32", 2, 1),
    "alpha": ("float32", 3, 1), "bbox": ("float32", 4, 4), "dimensions": ("float32", 8, 3),
    "location": ("float32", 11, 3), "rotation_y": ("float32", 14, 1),
}  # fmt: skip
_COLUMNS = {name: column_type(dtype, None, width) for name, (dtype, _, width) in _FIELDS.items()}


def _table(dataset_dir: str, usage: str, decode: bool | None) -> ColumnTable:
    part = "training" if usage == "train" else "testing"
    files = FileList(os.path.join(dataset_dir, "data_object_image_2", part, "image_2"))
    files.extend("", list_files(files.root, [".png"]))
    parts: dict[str, Any] = {"image": image_column(files, decode)}
    if usage == "train":
        folder = os.path.join(dataset_dir, "data_object_label_2", part, "label_2")
        names = [os.fsdecode(files.name(i).removesuffix(b".png")) for i in range(len(files))]
        lines = {path: _fields(path) for path in (os.path.join(folder, f"{name}.txt") for name in names)}
        class_names = sorted({row[0] for rows in lines.values() for row in rows}, key=os.fsencode)
        boxes = [
            _boxes(path, rows, {class_name: n for n, class_name in enumerate(class_names)})
            for path, rows in lines.items()
        ]
        for name, (dtype, first, width) in _FIELDS.items():
            parts[name] = InMemoryColumn(
                [image_boxes[:, first : first + width].astype(dtype) for image_boxes in boxes]
            )
    return ColumnTable(len(files), parts)


def _fields(path: str) -> list[list[str]]:
    return [line.split() for line in read_lines(path, allow_empty=True)]


def _boxes(path: str, rows: list[list[str]], class_numbers: dict[str, int]) -> Any:
    try:
        values = [[class_numbers[row[0]], *map(float, row[1:15])] for row in rows]
        return np.array(values, np.float64).reshape(len(rows), 15)
    except ValueError as error:
        raise FormatError(f"Invalid label: {error}", file=path) from error

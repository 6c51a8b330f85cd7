"""COCO annotation files as one value per image for each column of a task."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.core.values.schema import ColumnType
from millrace._src.data.formats.annotations import read_json
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.sources.base.table_dataset import ColumnTable, column_type, image_column

__all__ = ["COLUMNS", "coco_table"]

_NUMBER, _BOX = column_type("uint32", None, 1), column_type("float32", None, 4)
COLUMNS: dict[str, dict[str, ColumnType]] = {
    "Detection": {"bbox": _BOX, "category_id": _NUMBER, "iscrowd": _NUMBER},
    "Stuff": {"segmentation": column_type("float32", None, None), "iscrowd": _NUMBER},
    "Keypoint": {"keypoints": column_type("float32", None, None), "num_keypoints": _NUMBER},
    "Panoptic": {"bbox": _BOX, "category_id": _NUMBER, "iscrowd": _NUMBER, "area": _NUMBER},
    "Captioning": {"captions": column_type("str", None, 1)},
}
_MAX_POINTS = 1 << 26
_NO_CLASSES = "Only 'Detection' and 'Panoptic' support get_class_indexing."


def coco_table(
    dataset_dir: str, annotation_file: str, task: str, decode: bool | None, extra_metadata: bool, decrypt: Any
) -> ColumnTable:
    """Table of the images with annotations."""
    document = read_json(annotation_file)
    try:
        notes: dict[Any, list[dict[str, Any]]] = {}
        for note in document["annotations"]:
            notes.setdefault(note["image_id"], []).extend(
                note["segments_info"] if task == "Panoptic" else [note]
            )
        images = [
            (entry["file_name"], notes[entry["id"]]) for entry in document["images"] if notes.get(entry["id"])
        ]
        columns = {
            column: [_VALUES[column](image_notes) for _, image_notes in images] for column in COLUMNS[task]
        }
        classes: Any = _NO_CLASSES
        if task in ("Detection", "Panoptic"):
            classes = {entry["name"]: [entry["id"], *_thing(entry, task)] for entry in document["categories"]}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"Invalid annotation, {type(error).__name__} for the task {task}: {error}"
        raise FormatError(text, file=annotation_file) from error
    files = [os.path.join(dataset_dir, name) for name, _ in images]
    parts: dict[str, Any] = {"image": image_column(files, decode, decrypt, annotation_file)}
    parts |= {column: InMemoryColumn(values) for column, values in columns.items()}
    if extra_metadata:
        parts["_meta-filename"] = InMemoryColumn(
            [os.path.splitext(os.path.basename(name))[0] for name, _ in images]
        )
    return ColumnTable(len(files), parts, classes=classes)


def _thing(category: dict[str, Any], task: str) -> list[int]:
    return [category["isthing"]] if task == "Panoptic" else []


def _numbers(field: str, dtype: str, *width: int) -> Callable[[list[dict[str, Any]]], npt.NDArray[Any]]:
    def values(notes: list[dict[str, Any]]) -> npt.NDArray[Any]:
        return np.array([note[field] for note in notes], dtype).reshape(len(notes), *(width or (-1,)))

    return values


def _outlines(notes: list[dict[str, Any]]) -> npt.NDArray[np.float32]:
    """Outlines as rows, padded with -1; the run lengths of a crowd count as one outline."""
    rows: list[list[float]] = []
    for note in notes:
        outline = note["segmentation"]
        rows += [outline["counts"]] if isinstance(outline, dict) else outline
    shape = len(rows), max(map(len, rows), default=0)
    if shape[0] * shape[1] > _MAX_POINTS:
        raise ValueError(f"the outlines of one image would fill an array of {shape[0]} x {shape[1]}")
    array = np.full(shape, -1, np.float32)
    for row, outline in zip(array, rows):
        row[: len(outline)] = outline
    return array


def _captions(notes: list[dict[str, Any]]) -> npt.NDArray[Any]:
    return np.array([[str(note["caption"])] for note in notes])


_VALUES: dict[str, Callable[[list[dict[str, Any]]], npt.NDArray[Any]]] = {
    "bbox": _numbers("bbox", "float32", 4),
    "category_id": _numbers("category_id", "uint32", 1),
    "iscrowd": _numbers("iscrowd", "uint32", 1),
    "area": _numbers("area", "uint32", 1),
    "keypoints": _numbers("keypoints", "float32"),
    "num_keypoints": _numbers("num_keypoints", "uint32", 1),
    "segmentation": _outlines,
    "captions": _captions,
}

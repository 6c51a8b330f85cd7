"""Bounding boxes of Pascal VOC annotations."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.annotations import read_xml
from millrace._src.data.sources.base.table_dataset import column_type

__all__ = ["BOX_COLUMNS", "read_boxes"]

_NUMBER = column_type("uint32", None, 1)
BOX_COLUMNS = {
    "bbox": column_type("float32", None, 4),
    "label": _NUMBER,
    "difficult": _NUMBER,
    "truncate": _NUMBER,
}


def read_boxes(
    folder: str, names: list[str], chosen: dict[str, int] | None, listed: str
) -> tuple[list[str], dict[str, list[Any]], dict[str, int]]:
    """Images with boxes, a list of values per column, and class numbers; ``listed`` is the list file of the names."""
    boxes = []
    for name in names:
        path = os.path.join(folder, f"{name}.xml")
        if not os.path.isfile(path):
            raise FormatError(f"Invalid file, failed to open: {path} (there is no such file)", file=listed)
        boxes.append(_objects(path))
    numbers = chosen or {
        name: n for n, name in enumerate(sorted({b[0] for objects in boxes for b in objects}))
    }
    kept = [(name, [box for box in objects if box[0] in numbers]) for name, objects in zip(names, boxes)]
    kept = [(name, objects) for name, objects in kept if objects]
    columns: dict[str, list[Any]] = {column: [] for column in BOX_COLUMNS}
    for _, objects in kept:
        columns["bbox"].append(np.array([box[1] for box in objects], np.float32))
        columns["label"].append(np.array([[numbers[box[0]]] for box in objects], np.uint32))
        columns["difficult"].append(np.array([[box[2]] for box in objects], np.uint32))
        columns["truncate"].append(np.array([[box[3]] for box in objects], np.uint32))
    return [name for name, _ in kept], columns, dict(numbers)


def _objects(path: str) -> list[tuple[str, tuple[float, ...], int, int]]:
    """(class, (x, y, width, height), difficult, truncated) of each object of one image."""
    try:
        annotation = read_xml(path)["annotation"]
        objects = annotation.get("object", []) if isinstance(annotation, dict) else []
        parsed: list[tuple[str, tuple[float, ...], int, int]] = []
        for entry in objects if isinstance(objects, list) else [objects]:
            box = entry["bndbox"]
            left, top, right, bottom = (float(box[side]) for side in ("xmin", "ymin", "xmax", "ymax"))
            if not (0 < left < right and 0 < top < bottom):
                raise ValueError(f"the box {left, top, right, bottom} is impossible")
            flags = (int(entry.get("difficult") or 0), int(entry.get("truncated") or 0))
            if not (isinstance(entry["name"], str) and all(0 <= flag < 2**32 for flag in flags)):
                raise ValueError(f"name {entry['name']!r:.80}, difficult and truncated {flags}")
            parsed.append((entry["name"], (left, top, right - left, bottom - top), *flags))
        return parsed
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"Invalid annotation: {type(error).__name__}: {error}", file=path) from error

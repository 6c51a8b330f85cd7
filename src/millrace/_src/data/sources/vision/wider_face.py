"""``WIDERFaceDataset``: WIDER FACE face detection."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

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
    column_type,
    image_column,
    image_type,
)

__all__ = ["WIDERFaceDataset"]


@public("dataset")
class WIDERFaceDataset(TableDataset):
    """Images with a box and attributes for each face; for test only the images.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("WIDER_test/images/0--Parade").mkdir(parents=True), Path("wider_face_split").mkdir()
    (None, None)
    >>> _ = Path("WIDER_test/images/0--Parade/1.jpg").write_bytes(b"...")
    >>> _ = Path("wider_face_split/wider_face_test_filelist.txt").write_text("0--Parade/1.jpg")
    >>> [row["image"].shape for row in ds.WIDERFaceDataset(".", "test").create_dict_iterator(num_epochs=1)]
    [(3,)]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "test", "valid", "all"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        make = partial(_table, dataset_dir=dataset_dir, usage=usage or "all", decode=decode)
        faces = {"bbox": column_type("int32", None, 4)} | {name: column_type("int32", None) for name in NAMES}
        self._open(make, {"image": image_type(decode)} | ({} if usage == "test" else faces), shared)


NAMES = ["blur", "expression", "illumination", "occlusion", "pose", "invalid"]


def _table(dataset_dir: str, usage: str, decode: bool | None) -> ColumnTable:
    files, faces = FileList(dataset_dir), []
    lists = os.path.join(dataset_dir, "wider_face_split")
    if usage == "test":
        names = read_lines(os.path.join(lists, "wider_face_test_filelist.txt"))
        files.extend("WIDER_test/images", [os.fsencode(name.strip()) for name in names])
        return ColumnTable(len(files), {"image": image_column(files, decode)})
    for part in {"train": ["train"], "valid": ["val"], "all": ["train", "val"]}[usage]:
        faces_by_image = _faces(os.path.join(lists, f"wider_face_{part}_bbx_gt.txt"))
        files.extend(f"WIDER_{part}/images", sorted(faces_by_image))
        faces += [faces_by_image[name] for name in sorted(faces_by_image)]
    parts: dict[str, Any] = {
        "image": image_column(files, decode),
        "bbox": InMemoryColumn([rows[:, :4] for rows in faces]),
    }
    parts |= {name: InMemoryColumn([rows[:, index] for rows in faces]) for index, name in enumerate(NAMES, 4)}
    return ColumnTable(len(files), parts)


def _faces(path: str) -> dict[bytes, Any]:
    lines, faces_by_image, position = read_lines(path), {}, 0
    try:
        while position < len(lines):
            # an image without faces still has one row of zeros
            count = max(1, int(lines[position + 1]))
            rows = [line.split()[:10] for line in lines[position + 2 : position + 2 + count]]
            faces_by_image[os.fsencode(lines[position].strip())] = np.array(rows, np.int32).reshape(count, 10)
            position += 2 + count
    except (ValueError, IndexError) as error:
        raise FormatError(f"Invalid data near line {position + 1}: {error}", file=path) from error
    return faces_by_image

"""``PhotoTourDataset``: Photo Tour patches and matching pairs."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import ComputedColumn, InMemoryColumn, map_gray_bmp
from millrace._src.data.formats.files.file_list import FileList, list_files, read_lines
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
)

__all__ = ["PhotoTourDataset"]


@public("dataset")
class PhotoTourDataset(TableDataset):
    """Patches of 64 x 64 from photographs of one site: single, or ("test") in pairs that match (1) or not (0).

    >>> import millrace.dataset as ds
    >>> import numpy as np, cv2
    >>> from pathlib import Path
    >>> Path("liberty").mkdir()
    >>> _ = cv2.imwrite("liberty/patches0000.bmp", np.zeros((1024, 1024), np.uint8))
    >>> _ = Path("liberty/info.txt").write_text("0 0\\n0 0\\n")
    >>> [row["image"].shape for row in ds.PhotoTourDataset(".", "liberty").create_dict_iterator(num_epochs=1)]
    [(64, 64, 1), (64, 64, 1)]
    """

    @with_common_arguments(RowOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        name: Literal[
            "notredame", "yosemite", "liberty", "notredame_harris", "yosemite_harris", "liberty_harris"
        ],
        usage: Literal["train", "test"] | None = None,
        *_: Any,
        **shared: Unpack[RowOptions],
    ) -> None:
        make = partial(_table, dataset_dir=dataset_dir, name=name, usage=usage or "train")
        patch = column_type("uint8", 64, 64, 1)
        columns = (
            {"image1": patch, "image2": patch, "matches": UINT32} if usage == "test" else {"image": patch}
        )
        self._open(make, columns, shared)


_SIDE, _ACROSS = 64, 16


def _table(dataset_dir: str, name: str, usage: str) -> ColumnTable:
    folder = os.path.join(dataset_dir, name)
    files = FileList(folder)
    sheets = [file_name for file_name in list_files(folder, [".bmp"]) if file_name.startswith(b"patches")]
    for number, sheet in enumerate(sheets):
        wanted = f"patches{number:04d}.bmp"
        if sheet != wanted.encode():
            text = f"Invalid file, failed to open: {wanted} (there is no such file, but {os.fsdecode(sheet)})"
            raise FormatError(text, file=os.path.join(folder, wanted))
    files.extend("", sheets)
    info = os.path.join(folder, "info.txt")
    points = read_lines(info)
    if usage == "train":
        labels = partial(_points, points, info)
        return ColumnTable(
            len(points), {"image": ComputedColumn(partial(_patch, files, None))}, labels=labels
        )
    path = os.path.join(folder, "m50_100000_100000_0.txt")
    try:
        rows = np.array([line.split()[:5] for line in read_lines(path)], np.int64).reshape(-1, 5)
    except ValueError as error:
        raise FormatError(f"Invalid data, a row does not have seven numbers: {error}", file=path) from error
    parts: dict[str, Any] = {
        f"image{side + 1}": ComputedColumn(partial(_patch, files, rows[:, 3 * side])) for side in (0, 1)
    }
    matches = (rows[:, 1] == rows[:, 4]).astype(np.uint32)
    return ColumnTable(
        len(rows), parts | {"matches": InMemoryColumn(matches)}, labels=partial(np.asarray, matches)
    )


def _points(lines: list[str], path: str) -> Any:
    """The scene point of each patch, which is the class for a PKSampler."""
    try:
        return np.array([line.split()[0] for line in lines], np.int64)
    except ValueError as error:
        raise FormatError(f"Invalid data, a row does not begin with a number: {error}", file=path) from error


def _patch(files: FileList, numbers: Any, index: int) -> Any:
    number = index if numbers is None else int(numbers[index])
    sheet, position = divmod(number, _ACROSS * _ACROSS)
    if not 0 <= sheet < len(files):
        folder = os.fsdecode(files.root)
        text = (
            f"Invalid data, there is no sheet of patches for patch {number}: {len(files)} sheets in {folder}"
        )
        raise FormatError(text, file=os.path.join(folder, f"patches{sheet:04d}.bmp"))
    row, column = (_SIDE * cell for cell in divmod(position, _ACROSS))
    pixels = map_gray_bmp(files[sheet])
    return np.array(pixels[row : row + _SIDE, column : column + _SIDE, None])

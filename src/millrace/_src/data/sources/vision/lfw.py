"""``LFWDataset``: Labeled Faces in the Wild, people and pairs."""

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
    UINT32,
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["LFWDataset"]


@public("dataset")
class LFWDataset(TableDataset):
    """Faces with the person as label ("people"), or pairs of faces ("pairs": same person, 1, or not, 0).

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> Path("lfw_funneled/Ann").mkdir(parents=True)
    >>> _ = Path("lfw_funneled/Ann/Ann_0001.jpg").write_bytes(b"...")
    >>> _, _ = (
    ...     Path("lfw-names.txt").write_text("Ann\\t1"),
    ...     Path("peopleDevTest.txt").write_text("1\\nAnn\\t1"),
    ... )
    >>> [row["label"].item() for row in ds.LFWDataset(".", usage="test").create_dict_iterator(num_epochs=1)]
    [0]
    """

    @with_common_arguments(ImageOptions, decode=False)
    def __init__(
        self,
        dataset_dir: Folder,
        task: Literal["people", "pairs"] | None = None,
        usage: Literal["10fold", "train", "test", "all"] | None = None,
        image_set: Literal["original", "funneled", "deepfunneled"] | None = None,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        arguments: dict[str, Any] = {
            "task": task or "people",
            "usage": usage or "all",
            "image_set": image_set or "funneled",
        }
        make = partial(_table, dataset_dir=dataset_dir, **arguments, decode=decode)
        names = ("image1", "image2") if task == "pairs" else ("image",)
        self._open(make, {name: image_type(decode) for name in names} | {"label": UINT32}, shared)


_FOLDERS = {"original": "lfw", "funneled": "lfw_funneled", "deepfunneled": "lfw-deepfunneled"}
_MOST_FACES = 10_000
_LISTS = {"train": ["DevTrain"], "test": ["DevTest"], "all": ["DevTrain", "DevTest"], "10fold": [""]}


def _table(dataset_dir: str, task: str, usage: str, image_set: str, decode: bool | None) -> ColumnTable:
    lists = [os.path.join(dataset_dir, f"{task}{part}.txt") for part in _LISTS[usage]]
    # the published lists have tabs between names and counts, copies have spaces; a line with only numbers is a count of
    # the following lines
    rows = [line.split() for path in lists for line in read_lines(path)]
    rows = [row for row in rows if not all(field.isdigit() for field in row)]
    try:
        if task == "pairs":
            pairs = [row for row in rows if len(row) in (3, 4)]
            sides = [
                [(row[0], int(row[1])) for row in pairs],
                [(row[-2 if len(row) == 4 else 0], int(row[-1])) for row in pairs],
            ]
            labels = [int(len(row) == 3) for row in pairs]
        else:
            numbers = {
                line.split()[0]: n
                for n, line in enumerate(read_lines(os.path.join(dataset_dir, "lfw-names.txt")))
            }
            people = [row for row in rows if len(row) == 2]
            if any(int(row[1]) > _MOST_FACES for row in people):
                raise ValueError(f"more than {_MOST_FACES} images of one person")
            sides = [[(row[0], n) for row in people for n in range(1, int(row[1]) + 1)]]
            labels = [numbers[name] for name, _ in sides[0]]
    except (KeyError, ValueError) as error:
        raise FormatError(
            f"Invalid data, a list of people has a wrong name or number: {error}", file=lists[0]
        ) from error
    parts: dict[str, Any] = {}
    for number, side in enumerate(sides):
        files = FileList(os.path.join(dataset_dir, _FOLDERS[image_set]))
        files.extend("", [os.fsencode(f"{name}/{name}_{n:04d}.jpg") for name, n in side])
        parts["image" if len(sides) == 1 else f"image{number + 1}"] = image_column(
            files, decode, listed=" or ".join(lists)
        )
    return ColumnTable(len(labels), parts | {"label": InMemoryColumn(np.array(labels, np.uint32))})

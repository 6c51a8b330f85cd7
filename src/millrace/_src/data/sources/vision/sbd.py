"""``SBDataset``: Semantic Boundaries Dataset, boundaries and segmentation."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Literal, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import ComputedColumn
from millrace._src.data.formats.files.file_list import read_lines
from millrace._src.data.formats.mat import read_mat
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
    image_column,
    image_type,
)

__all__ = ["SBDataset"]


@public("dataset")
class SBDataset(TableDataset):
    """Semantic Boundaries Dataset: images with 20 boundary maps ("Boundaries") or one segmentation map.

    >>> import millrace.dataset as ds
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from millrace._src.data.formats.mat import write_mat
    >>> Path("img").mkdir(), Path("cls").mkdir()
    (None, None)
    >>> _, _ = Path("img/7.jpg").write_bytes(b"..."), Path("val.txt").write_text("7")
    >>> write_mat("cls/7.mat", {"GTcls": {"Segmentation": np.zeros((2, 3), np.uint8)}})
    >>> data = ds.SBDataset(".", task="Segmentation", usage="val")
    >>> [row["task"].shape for row in data.create_dict_iterator(num_epochs=1)]
    [(2, 3)]
    """

    @with_common_arguments(ImageOptions, without=("cache",), num_parallel_workers=1)
    def __init__(
        self,
        dataset_dir: Folder,
        task: Literal["Boundaries", "Segmentation"] | None = "Boundaries",
        usage: Literal["train", "val", "train_noval", "all"] | None = "all",
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "task": task or "Boundaries",
            "usage": usage or "all",
        }
        make = partial(_table, **arguments, decode=decode)
        target = (
            column_type("float64", 20, None, None)
            if arguments["task"] == "Boundaries"
            else column_type("uint8", None, None)
        )
        if shared["num_parallel_workers"] == 1:  # choose automatically
            shared["num_parallel_workers"] = None
        self._open(make, {"image": image_type(decode), "task": target}, shared)


def _table(dataset_dir: str, task: str, usage: str, decode: bool | None) -> ColumnTable:
    parts = ("train", "val") if usage == "all" else (usage,)
    lists = [os.path.join(dataset_dir, f"{part}.txt") for part in parts]
    names = [line.strip() for path in lists for line in read_lines(path)]
    images = [os.path.join(dataset_dir, "img", f"{name}.jpg") for name in names]
    targets = [os.path.join(dataset_dir, "cls", f"{name}.mat") for name in names]
    image = image_column(images, decode, listed=" or ".join(lists))
    return ColumnTable(len(names), {"image": image, "task": ComputedColumn(partial(_target, targets, task))})


def _target(files: list[str], task: str, index: int) -> Any:
    try:
        annotation = read_mat(files[index], ["GTcls"])["GTcls"][task]
        return np.stack(annotation).astype(np.float64) if task == "Boundaries" else np.asarray(annotation)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(
            f"Invalid file, there is no {task} in its GTcls: {error}", file=files[index]
        ) from error

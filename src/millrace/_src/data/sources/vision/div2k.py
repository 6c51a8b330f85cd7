"""``DIV2KDataset``: DIV2K super-resolution."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any, Literal, Unpack

from millrace._src.core.args import OneOf
from millrace._src.core.errors import ArgumentValueError
from millrace._src.core.public import public
from millrace._src.data.formats.files.file_list import FileList, list_files
from millrace._src.data.sources.base.common_arguments import ImageOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    ColumnTable,
    Folder,
    TableDataset,
    image_column,
    image_type,
)

__all__ = ["DIV2KDataset"]


@public("dataset")
class DIV2KDataset(TableDataset):
    """Images in high resolution, and in low resolution by ``downgrade`` with factor ``scale``.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> for folder in ("DIV2K_train_HR", "DIV2K_train_LR_bicubic/X2"):
    ...     Path(folder).mkdir(parents=True)
    >>> _ = Path("DIV2K_train_HR/0001.png").write_bytes(b"......")
    >>> _ = Path("DIV2K_train_LR_bicubic/X2/0001x2.png").write_bytes(b"...")
    >>> [row["lr_image"].shape for row in ds.DIV2KDataset(".").create_dict_iterator(num_epochs=1)]
    [(3,)]
    """

    @with_common_arguments(ImageOptions)
    def __init__(
        self,
        dataset_dir: Folder,
        usage: Literal["train", "valid", "all"] = "train",
        downgrade: Literal["bicubic", "unknown", "mild", "difficult", "wild"] = "bicubic",
        scale: Annotated[int, OneOf(2, 3, 4, 8)] = 2,
        *_: Any,
        **shared: Unpack[ImageOptions],
    ) -> None:
        decode = shared["decode"]
        if scale == 8 and downgrade != "bicubic":
            raise ArgumentValueError("DIV2KNode: scale equal to 8 is allowed only in bicubic downgrade.")
        if downgrade in ("mild", "difficult", "wild") and scale != 4:
            raise ArgumentValueError(f"DIV2KNode: {downgrade} downgrade requires scale equal to 4.")
        arguments: dict[str, Any] = {
            "dataset_dir": dataset_dir,
            "usage": usage,
            "downgrade": downgrade,
            "scale": scale,
        }
        make = partial(_table, **arguments, decode=decode)
        self._open(make, {"hr_image": image_type(decode), "lr_image": image_type(decode)}, shared)


def _table(dataset_dir: str, usage: str, downgrade: str, scale: int, decode: bool | None) -> ColumnTable:
    high, low = FileList(dataset_dir), FileList(dataset_dir)
    if scale == 8:
        folder, end = "DIV2K_{}_LR_x8", "x8.png"
    elif downgrade in ("bicubic", "unknown"):
        folder, end = "DIV2K_{}_LR_" + f"{downgrade}/X{scale}", f"x{scale}.png"
    else:
        folder, end = "DIV2K_{}_LR_" + downgrade, f"x{scale}{downgrade[0]}.png"
    for part in ("train", "valid") if usage == "all" else (usage,):
        names = list_files(os.path.join(dataset_dir, f"DIV2K_{part}_HR"), [".png"])
        high.extend(f"DIV2K_{part}_HR", names)
        low.extend(folder.format(part), [name.removesuffix(b".png") + end.encode() for name in names])
    return ColumnTable(
        len(high), {"hr_image": image_column(high, decode), "lr_image": image_column(low, decode)}
    )

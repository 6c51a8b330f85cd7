"""``ImageFolderDataset``: images in one folder per class."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

from millrace._src.core.args import check_type, checked
from millrace._src.core.errors import PlanError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import list_files
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    Cache,
    ColumnTable,
    Decrypt,
    Folder,
    NumSamples,
    NumWorkers,
    TableDataset,
    class_folders,
    image_column,
    image_type,
)

__all__ = ["ImageFolderDataset"]

_ENDINGS = (b".jpg", b".jpeg", b".png", b".bmp", b".gif", b".webp", b".tif", b".tiff")


@public("dataset")
class ImageFolderDataset(TableDataset):
    """Images in one folder per class: ``cat/1.jpg``, ``dog/7.png``; classes are numbered in the order of their names.

    ``extensions`` selects files, ``class_indexing`` selects and numbers classes. Deeper folders, and files outside the
    class folders, are skipped.

    >>> import millrace.dataset as ds
    >>> from pathlib import Path
    >>> for name in ("cat", "dog"):
    ...     _ = Path("pets", name).mkdir(parents=True)
    ...     _ = Path("pets", name, "1.jpg").write_bytes(b"...")
    >>> data = ds.ImageFolderDataset("pets", shuffle=False)
    >>> [row["label"].item() for row in data.create_dict_iterator(num_epochs=1)], data.get_class_indexing()
    ([0, 1], {'cat': 0, 'dog': 1})
    """

    @checked
    def __init__(
        self,
        dataset_dir: Folder,
        num_samples: NumSamples = None,
        num_parallel_workers: NumWorkers = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: list[Any] | None = None,
        class_indexing: dict[Any, Any] | None = None,
        decode: bool | None = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Cache = None,
        decrypt: Decrypt = None,
    ) -> None:
        for value in (class_indexing or {}).values():
            check_type(value, (int,), "class_indexing")
        make = partial(
            _table,
            dataset_dir=dataset_dir,
            extensions=extensions,
            class_indexing=class_indexing,
            decode=decode,
            decrypt=decrypt,
        )
        self._open(make, {"image": image_type(decode), "label": INT32}, locals())


def _table(
    dataset_dir: str,
    extensions: list[str] | None,
    class_indexing: dict[str, int] | None,
    decode: bool | None,
    decrypt: Any,
) -> ColumnTable:
    files, labels, numbers = class_folders(dataset_dir, extensions, class_indexing)
    if not len(files):
        _refuse_images_without_classes(dataset_dir)
    parts = {"image": image_column(files, decode, decrypt), "label": InMemoryColumn(labels)}
    return ColumnTable(len(files), parts, classes=numbers, num_classes=len(numbers))


def _refuse_images_without_classes(folder: str) -> None:
    """Raise for a folder with images but without class folders, the most common mistake."""
    images = [name for name in list_files(folder) if name.lower().endswith(_ENDINGS)]
    rest = f" and {len(images) - 1} more" if len(images) > 1 else ""
    if images:
        raise PlanError(
            "Invalid data, ImageFolderDataset API can't read the data file (interface mismatch or no data found): "
            f"{folder} holds images itself ({os.fsdecode(images[0])}{rest}), but class sub-folders "
            f"are wanted, one for each label, as {os.path.join(folder, 'cat', os.fsdecode(images[0]))}. Move the "
            "images into such folders, or read them without labels through GeneratorDataset"
        )

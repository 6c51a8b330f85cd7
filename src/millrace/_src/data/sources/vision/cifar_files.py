"""Tables of CIFAR-10 and CIFAR-100 files: records of labels and pixels, binary or Python version."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from millrace._src.core.errors import FormatError
from millrace._src.data.formats.cifar_pickle import read_cifar
from millrace._src.data.formats.column_readers import InMemoryColumn, LazyArrayColumn, map_file
from millrace._src.data.sources.base.table_dataset import ColumnTable

__all__ = ["cifar_table"]

PIXELS = 3 * 32 * 32


def cifar_table(folder: str, names: list[str], labels: dict[str, str]) -> ColumnTable:
    """Table of the files of these names; ``labels`` maps label columns to their names in the Python version."""
    paths = [os.path.join(folder, f"{name}.bin") for name in names]
    if not any(map(os.path.isfile, paths)):
        python = [os.path.join(folder, name) for name in names]
        if any(map(os.path.isfile, python)):
            return _python_table(python, labels)
        raise FormatError(f"Invalid cifar folder, cifar(.bin) files are missing under {folder}", file=folder)
    width = len(labels) + PIXELS
    loads = [partial(map_file, path, (width,)) for path in paths]
    sizes = [len(load()) for load in loads]
    if 0 in sizes:
        raise FormatError("the file is empty", file=paths[sizes.index(0)])
    ends = np.cumsum(sizes).tolist()
    parts: dict[str, Any] = {"image": LazyArrayColumn(loads, paths, ends, partial(_pixels, skip=len(labels)))}
    for number, column in enumerate(labels):
        parts[column] = LazyArrayColumn(loads, paths, ends, partial(_label, index=number))
    return ColumnTable(ends[-1], parts)


def _pixels(records: npt.NDArray[Any], skip: int) -> npt.NDArray[Any]:
    return records[:, skip:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def _label(records: npt.NDArray[Any], index: int) -> npt.NDArray[Any]:
    return records[:, index].astype(np.uint32)


def _python_table(paths: list[str], labels: dict[str, str]) -> ColumnTable:
    images, label_columns = read_cifar(list(paths), list(labels.values()))
    parts: dict[str, Any] = {"image": InMemoryColumn(np.ascontiguousarray(images))}
    parts |= {
        column: InMemoryColumn(label_columns[name].astype(np.uint32)) for column, name in labels.items()
    }
    return ColumnTable(len(images), parts)

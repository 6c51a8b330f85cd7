"""``YesNoDataset``: YesNo Hebrew recordings."""

from __future__ import annotations

from functools import partial
from typing import Any, Unpack

import numpy as np

from millrace._src.core.errors import FormatError
from millrace._src.core.public import public
from millrace._src.data.formats.column_readers import InMemoryColumn
from millrace._src.data.formats.files.file_list import FileList, list_files
from millrace._src.data.sources.audio.waveform_table import WAVE, WaveformTable
from millrace._src.data.sources.base.common_arguments import RowOptions, with_common_arguments
from millrace._src.data.sources.base.table_dataset import (
    INT32,
    ColumnTable,
    Folder,
    TableDataset,
    column_type,
)

__all__ = ["YesNoDataset"]


@public("dataset")
class YesNoDataset(TableDataset):
    """YesNo: sixty recordings of one person saying eight times yes (1) or no (0) in Hebrew.

    >>> import millrace.dataset as ds
    >>> import wave
    >>> with wave.open("0_0_0_1_0_0_0_1.wav", "wb") as file:
    ...     file.setparams((1, 2, 16000, 0, "NONE", ""))
    ...     file.writeframes(bytes(20))
    >>> [row["label"].tolist() for row in ds.YesNoDataset(".").create_dict_iterator(1, output_numpy=True)]
    [[0, 0, 0, 1, 0, 0, 0, 1]]
    """

    @with_common_arguments(RowOptions)
    def __init__(self, dataset_dir: Folder, *_: Any, **shared: Unpack[RowOptions]) -> None:
        make = partial(_table, dataset_dir=dataset_dir)
        self._open(make, {"waveform": WAVE, "sample_rate": INT32, "label": column_type("int32", 8)}, shared)


def _table(dataset_dir: str) -> ColumnTable:
    files = FileList(dataset_dir)
    names = list_files(dataset_dir, [".wav"])
    files.extend("", names)
    try:
        labels = np.array([name.removesuffix(b".wav").split(b"_") for name in names], np.int32).reshape(-1, 8)
    except ValueError as error:
        raise FormatError(f"Invalid file, a name is not eight digits: {error}", file=dataset_dir) from error
    return WaveformTable(files, {"label": InMemoryColumn(labels)}, "int32")
